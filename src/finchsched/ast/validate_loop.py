"""Rules of Loop IR.  A pass or scheduling operation takes a valid program and gives a valid program."""

from dataclasses import dataclass, field

from finchsched.algebra.dtypes import INT64, DType
from finchsched.ast.loop import (
    ASSEMBLIES,
    Access,
    Assign,
    Block,
    Declare,
    Define,
    Freeze,
    If,
    Index,
    Loop,
    LoopProgram,
    Nest,
    Scalar,
    Stmt,
    Tensor,
)
from finchsched.ast.node import Node, distinct
from finchsched.ast.parse_loop import STATEMENT_WORDS
from finchsched.ast.print_scalar import print_index
from finchsched.ast.scalar import Literal
from finchsched.ast.validate_scalar import (
    check_constant_coordinate,
    check_leaf,
    check_name,
    check_reduction,
    check_scalar,
    check_type,
    check_values,
)
from finchsched.errors import ValidationError

__all__ = ["validate_loop"]


def validate_loop(program: LoopProgram) -> None:
    """Check that `program` keeps the rules of Loop IR.  Raises ValidationError naming the nest and the rule.

    Names: identifiers; one tensor or value per name; a target is made by one nest; no scalar is called like an index, a
    tensor or a word that begins a statement.
    Scopes: an index is bound by a loop around it and by no other; a scalar is defined before it is used, in the same
    body or around it, and keeps one type in its nest; a workspace is declared, then written, then frozen in the body
    that declared it, then read there.  An input or an earlier target is read but never written; a nest assigns its
    target.
    Types: operands are promoted; a right-hand side has the type of what it is assigned to; conditions are bool; an
    access has an index per axis; a declared tensor starts from a scalar of its own type.
    """
    nodes = distinct(program)
    check_values(nodes)
    _check_names(program, nodes)
    complete = {tensor.name for tensor in program.inputs}
    for nest in program.nests:
        _NestChecks(nest, complete).run()
        complete.add(nest.target.name)
    made = {nest.target.name for nest in program.nests}
    for result in program.results:
        if result.name not in made:
            raise ValidationError(f"result {result.name}: no nest makes it")


def _check_names(program: LoopProgram, nodes: list[Node]) -> None:
    tensors: dict[str, Tensor] = {}
    for node in nodes:
        if isinstance(node, Tensor):
            where = f"tensor {node.name}"
            check_name(node.name, where)
            if tensors.setdefault(node.name, node) != node:
                raise ValidationError(f"{where}: the name stands for two tensors")
            check_type(node.type, where)
    given = [tensor.name for tensor in program.inputs]
    for name in given:
        if given.count(name) > 1:
            raise ValidationError(f"input {name}: it is listed twice")
    taken = {**tensors, **{node.name: node for node in nodes if isinstance(node, Index)}}
    for node in nodes:
        if isinstance(node, Scalar) and (node.name in taken or node.name in STATEMENT_WORDS):
            raise ValidationError(f"scalar {node.name}: the name is taken\nhint: use a fresh name")


@dataclass(slots=True)
class _Scope:
    """What the statements of one body have introduced: a loop's index, scalars, workspaces that are frozen or not."""

    index: str = ""
    scalars: dict[str, DType] = field(default_factory=dict)
    workspaces: dict[str, bool] = field(default_factory=dict)


class _NestChecks:
    def __init__(self, nest: Nest, complete: set[str]) -> None:
        self.nest = nest
        self.complete = complete
        self.where = f"nest {nest.target.name}"
        self.scopes = [_Scope()]
        self.scalar_types: dict[str, DType] = {}
        self.assigned = False

    def fail(self, message: str) -> ValidationError:
        return ValidationError(f"{self.where}: {message}")

    def run(self) -> None:
        nest = self.nest
        if nest.assembly not in ASSEMBLIES:
            raise self.fail(f"assembly {nest.assembly!r} is not one of {', '.join(ASSEMBLIES)}")
        if nest.target.name in self.complete:
            raise self.fail("its target is an input or the target of an earlier nest")
        stack: list[Stmt | None] = [nest.body]
        while stack:
            statement = stack.pop()
            match statement:
                case None:  # the body of a loop or condition ends
                    self.leave()
                case Block(body):
                    stack.extend(reversed(body))
                case Loop(_, body) | If(_, body):
                    self.enter(statement)
                    stack += [None, body]
                case _:
                    self.simple(statement)
        self.leave()
        if not self.assigned:
            raise self.fail("it never assigns its target")

    # ---- scopes

    def enter(self, statement: Loop | If) -> None:
        scope = _Scope()
        if isinstance(statement, If):
            found = self.type_of(statement.cond)
            if not found.is_bool:
                raise self.fail(f"a condition has type {found}, expected bool")
        else:
            scope.index = statement.index.name
            check_name(scope.index, self.where)
            if any(outer.index == scope.index for outer in self.scopes):
                raise self.fail(f"loop {scope.index} stands inside a loop over the same index")
        self.scopes.append(scope)

    def leave(self) -> None:
        for name, frozen in self.scopes.pop().workspaces.items():
            if not frozen and name != self.nest.target.name:
                raise self.fail(f"{name} is declared but not frozen in the same body")

    def state(self, tensor: Tensor) -> bool | None:
        """Whether a workspace is frozen; None if none of this name is declared here."""
        return next((s.workspaces[tensor.name] for s in reversed(self.scopes) if tensor.name in s.workspaces), None)

    # ---- statements

    def simple(self, statement: Stmt) -> None:
        match statement:
            case Assign():
                self.assign(statement)
            case Define(scalar, init):
                self.same(self.type_of(init), scalar.dtype, f"scalar {scalar.name}")
                self.define(scalar)
            case Declare(tensor, init):
                self.same(self.type_of(init), tensor.type.dtype, f"the init of {tensor.name}")
                if tensor.name in self.complete:
                    raise self.fail(f"{tensor.name} is complete, so it cannot be declared")
                if self.state(tensor) is not None and self.scopes[-1].workspaces.get(tensor.name) is not True:
                    raise self.fail(f"{tensor.name} is declared twice")
                self.scopes[-1].workspaces[tensor.name] = False
            case Freeze(tensor):
                if self.scopes[-1].workspaces.get(tensor.name) is not False:
                    raise self.fail(f"{tensor.name} is frozen where it was not declared in the same body")
                self.scopes[-1].workspaces[tensor.name] = True
            case _:
                raise self.fail(f"{type(statement).__name__} is not a statement of Loop IR")

    def define(self, scalar: Scalar) -> None:
        check_name(scalar.name, self.where)
        if any(scalar.name in scope.scalars for scope in self.scopes):
            raise self.fail(f"scalar {scalar.name} is defined twice")
        self.same(scalar.dtype, self.scalar_types.setdefault(scalar.name, scalar.dtype), f"scalar {scalar.name}")
        self.scopes[-1].scalars[scalar.name] = scalar.dtype

    def assign(self, statement: Assign) -> None:
        target = statement.target
        if isinstance(target, Access):
            self.written(target)
            wanted = target.tensor.type.dtype
        else:
            wanted = self.leaf(target, self.where)
        found = self.type_of(statement.rhs)
        if statement.op is not None:
            check_reduction(statement.op, wanted, found, self.where)
        name = target.tensor.name if isinstance(target, Access) else target.name
        self.same(found, wanted, f"the right side of {name}")

    def written(self, access: Access) -> None:
        self.indices(access)
        tensor, frozen = access.tensor, self.state(access.tensor)
        if tensor.name in self.complete:
            raise self.fail(f"{tensor.name} is assigned, but it is an input or the target of an earlier nest")
        if frozen:
            raise self.fail(f"{tensor.name} is assigned after it was frozen")
        if tensor.name == self.nest.target.name:
            self.assigned = True
        elif frozen is None:
            raise self.fail(f"{tensor.name} is assigned, but it is neither the target nor a declared workspace")

    # ---- expressions

    def type_of(self, expr: Node) -> DType:
        return check_scalar(expr, self.where, self.leaf)

    def leaf(self, node: Node, where: str) -> DType:
        match node:
            case Index(name):
                self.bound(name)
                return INT64
            case Scalar(name, dtype):
                found = next((scope.scalars[name] for scope in self.scopes if name in scope.scalars), None)
                if found is None:
                    raise self.fail(f"scalar {name} is used before it is defined")
                self.same(dtype, found, f"scalar {name}")
                return dtype
            case Access(tensor, _):
                self.indices(node)
                if tensor.name not in self.complete and not self.state(tensor):
                    raise self.fail(f"{tensor.name} is read before it is complete\nhint: declare, fill and freeze it")
                return tensor.type.dtype
            case _:
                return check_leaf(node, where)

    def indices(self, access: Access) -> None:
        rank = len(access.tensor.type.levels)
        if len(access.index) != rank:
            raise self.fail(f"{access.tensor.name} has {rank} axes, found the indices {print_index(access.index)}")
        for index in access.index:
            if isinstance(index, Literal):
                check_constant_coordinate(index, f"{self.where}: {access.tensor.name}")
            else:
                self.bound(index.name)

    def bound(self, name: str) -> None:
        if all(scope.index != name for scope in self.scopes):
            raise self.fail(f"index {name} is not bound by a loop around it")

    def same(self, found: DType, wanted: DType, what: str) -> None:
        if found != wanted:
            raise self.fail(f"{what} has type {found}, expected {wanted}\nhint: cast with to_{wanted.name}")
