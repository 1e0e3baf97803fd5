"""Rules of Logic IR.  A pass takes a valid plan and gives a valid plan."""

from finchsched.ast import facts
from finchsched.ast.logic import (
    Aggregate,
    Alias,
    Coordinate,
    Field,
    LogicExpr,
    MapJoin,
    Plan,
    Query,
    Reformat,
    Relabel,
    Reorder,
    Slot,
    Subquery,
    Table,
)
from finchsched.ast.node import Node, distinct
from finchsched.ast.print_scalar import print_index
from finchsched.ast.scalar import Literal, Value
from finchsched.ast.validate_scalar import (
    check_constant_coordinate,
    check_leaf,
    check_name,
    check_operands,
    check_reduction,
    check_type,
    check_values,
)
from finchsched.errors import ValidationError

__all__ = ["validate_logic"]


def validate_logic(plan: Plan) -> None:
    """Check that `plan` keeps the rules of Logic IR.  Raises ValidationError naming the query and the rule.

    Names: identifiers; a tensor or value has one declaration; an alias is made once, before it is used or returned.
    Types: arguments of a MapJoin have one promoted type (`where`: bool first), an Aggregate folds values of its init's
    type, an alias has the rank and the element type of its right-hand side, a fill that of its tensor.
    Fields: `over` are distinct fields of the argument; a Relabel has as many fields as its argument; no Reorder or
    Relabel repeats one; a Table has an index per axis; a loop order permutes the fields of the right-hand side.
    """
    check_values(distinct(plan))
    checks = _Checks()
    for query in plan.bodies:
        checks.query(query)
    for alias in plan.result.aliases:
        checks.tensor(alias, "result")
        if alias.name not in checks.made:
            raise ValidationError(f"result {alias.name}: no query makes it")


class _Checks:
    """What the queries so far have declared and made."""

    def __init__(self) -> None:
        self.tensors: dict[str, Slot | Alias] = {}
        self.made: set[str] = set()
        self.subqueries: dict[str, Subquery] = {}

    def query(self, query: Query) -> None:
        where = f"query {query.alias.name}"
        nodes = distinct(query.rhs)
        if not isinstance(query.rhs, LogicExpr):
            raise ValidationError(f"{where}: {type(query.rhs).__name__} is not an expression of Logic IR")
        for node in nodes:
            self.node(node, where)
        self.make(query.alias, query.rhs, where)
        self.made.add(query.alias.name)
        _check_loop_order(query, nodes, where)

    def make(self, alias: Alias, rhs: LogicExpr, where: str) -> None:
        """An alias is made once, with the rank and the element type of its right-hand side."""
        self.tensor(alias, where)
        if alias.name in self.made or alias.name in self.subqueries:
            raise ValidationError(f"{where}: {alias.name} is made twice")
        rank, found = len(alias.type.levels), facts.fields(rhs)
        if rank != len(found):
            raise ValidationError(f"{where}: {alias.name} has {rank} axes, its right side has {print_index(found)}")
        if alias.type.dtype != facts.dtype(rhs):
            raise ValidationError(
                f"{where}: {alias.name} holds {alias.type.dtype}, its right side is {facts.dtype(rhs)}"
            )

    def tensor(self, tensor: Slot | Alias, where: str) -> None:
        """A name stands for one tensor."""
        known = self.tensors.setdefault(tensor.name, tensor)
        if known != tensor:
            raise ValidationError(f"{where}: {tensor.name} stands for two tensors")
        if known is tensor:
            check_name(tensor.name, where)
            check_type(tensor.type, f"{where}: type of {tensor.name}")

    def node(self, node: Node, where: str) -> None:
        """One node whose children are known to be valid."""
        match node:
            case Field(name):
                check_name(name, where)
            case Literal() | Value():
                check_leaf(node, where)
            case Table():
                self.table(node, where)
            case MapJoin(op, args):
                _check_expressions(args, where)
                check_operands(op, [facts.dtype(arg) for arg in args], f"{where}: MapJoin")
            case Aggregate():
                self.aggregate(node, where)
            case Reorder(arg, order) | Relabel(arg, order):
                _check_expressions((arg,), where)
                self.order(node, arg, order, where)
            case Reformat():
                self.reformat(node, where)
            case Subquery():
                self.subquery(node, where)
            case Coordinate() | _:  # nothing of its own; parts of types are checked with their tensor
                pass

    def table(self, table: Table, where: str) -> None:
        tensor = table.tensor
        self.tensor(tensor, where)
        if isinstance(tensor, Alias) and tensor.name not in self.made:
            raise ValidationError(f"{where}: {tensor.name} is used before a query makes it")
        if len(table.index) != len(tensor.type.levels):
            rank, found = len(tensor.type.levels), print_index(table.index)
            raise ValidationError(f"{where}: {tensor.name} has {rank} axes, found the indices {found}")
        for index in table.index:
            if isinstance(index, Literal):
                check_constant_coordinate(index, f"{where}: {tensor.name}")

    def subquery(self, node: Subquery, where: str) -> None:
        _check_expressions((node.arg,), where)
        known = self.subqueries.get(node.alias.name)
        if known is None:
            self.make(node.alias, node.arg, f"{where}: subquery {node.alias.name}")
            self.subqueries[node.alias.name] = node
        elif known != node:
            raise ValidationError(f"{where}: subquery {node.alias.name} has two right sides")

    def aggregate(self, node: Aggregate, where: str) -> None:
        _check_expressions((node.arg,), where)
        where = f"{where}: Aggregate"
        check_reduction(node.op, node.init.dtype, facts.dtype(node.arg), where)
        _check_distinct(node.over, "over", where)
        missing = tuple(f for f in node.over if f not in facts.fields(node.arg))
        if missing:
            raise ValidationError(
                f"{where} over {print_index(missing)}: the argument has {print_index(facts.fields(node.arg))}"
            )

    def order(self, node: Node, arg: LogicExpr, order: tuple[Field, ...], where: str) -> None:
        what = type(node).__name__
        _check_distinct(order, what, where)
        if isinstance(node, Relabel) and len(order) != len(facts.fields(arg)):
            raise ValidationError(
                f"{where}: Relabel {print_index(order)}: the argument has {print_index(facts.fields(arg))}"
            )

    def reformat(self, node: Reformat, where: str) -> None:
        _check_expressions((node.arg,), where)
        check_type(node.type, f"{where}: Reformat")
        if len(node.type.levels) != len(facts.fields(node.arg)):
            found = print_index(facts.fields(node.arg))
            raise ValidationError(f"{where}: Reformat to {len(node.type.levels)} axes: the argument has {found}")
        if node.type.dtype != facts.dtype(node.arg):
            raise ValidationError(
                f"{where}: Reformat to {node.type.dtype}: the argument has type {facts.dtype(node.arg)}"
            )


def _check_expressions(args: tuple[Node, ...], where: str) -> None:
    for arg in args:
        if not isinstance(arg, LogicExpr):
            raise ValidationError(f"{where}: {type(arg).__name__} is not an expression of Logic IR")


def _check_distinct(order: tuple[Field, ...], what: str, where: str) -> None:
    if len(set(order)) != len(order):
        raise ValidationError(f"{where}: {what} {print_index(order)} repeats a field")


def _check_loop_order(query: Query, nodes: list[Node], where: str) -> None:
    if not query.loop_order:
        return
    for field in query.loop_order:
        check_name(field.name, where)
    _check_distinct(query.loop_order, "order", where)
    occurring = tuple(dict.fromkeys(node for node in nodes if isinstance(node, Field)))
    if set(query.loop_order) != set(occurring):
        order = print_index(query.loop_order)
        raise ValidationError(f"{where}: order {order} does not permute the fields {print_index(occurring)}")
