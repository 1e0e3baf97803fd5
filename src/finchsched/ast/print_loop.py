"""Text of Loop IR, which `finchsched.ast.parse_loop` reads back.

    input A: Dense(SparseList[int32,int32](Element(0.0: float64)))
    input X: Dense(Dense(Element(0.0: float64)))
    output S: Dense(SparseList[int32,int32](Element(0.0: float64)))
    nest S by shared:
        for i:
            for j:
                var t: float64 = 0.0: float64
                for k:
                    t += X[i, k] * X[j, k]
                S[i, j] = A[i, j] * t
    return S

Header: `input`; `output` or `temp` for the target of a nest that is returned or not; `work` for any other tensor.  A
fragment (nest, statement or expression) declares its free scalars too, as in `scalar t: float64`.  The indented lines
under a head are one statement, or a Block of two and more; `pass` is the empty Block, `block:` any other.  Operators
print between their operands and bind as in Python; those that share a symbol with an earlier one print as calls.  A
reduction prints as Python's augmented assignment (`+=`) or with the operator's name (`min=`).
"""

from finchsched.ast.format import TensorType
from finchsched.ast.loop import (
    Access,
    Assign,
    Block,
    Declare,
    Define,
    Freeze,
    If,
    Index,
    Loop,
    LoopExpr,
    LoopProgram,
    Nest,
    Scalar,
    Stmt,
    Tensor,
)
from finchsched.ast.node import Node, walk
from finchsched.ast.print_scalar import print_index, print_type, scalar_pieces
from finchsched.ast.scalar import Call, Literal, Size, Value
from finchsched.ast.syntax import AUGMENTED, INFIX, Infix, Piece, write

__all__ = ["print_loop"]

_INDENT = 4
_SYMBOLS = {op.name: symbol for symbol, op in AUGMENTED.items()}


def print_loop(node: Node) -> str:
    """The text of a LoopProgram, a Nest, a statement or an expression, with a header; every line is ended."""
    match node:
        case LoopProgram(_, nests, results):
            lines = _header(node) + [line for nest in nests for line in _nest(nest)]
            lines.append(" ".join(["return", ", ".join(tensor.name for tensor in results)]).rstrip())
        case Nest():
            lines = _fragment_header(node) + _nest(node)
        case Loop() | Assign() | If() | Define() | Declare() | Freeze() | Block():
            lines = _fragment_header(node) + _statements(node, 0)
        case _:
            lines = [*_fragment_header(node), _expression(node)]
    return "".join(f"{line}\n" for line in lines)


def _header(program: LoopProgram) -> list[str]:
    targets = dict.fromkeys(nest.target for nest in program.nests)
    others = dict.fromkeys(node for node in walk(program) if isinstance(node, Tensor))
    lines = [_declaration("input", tensor.name, tensor.type) for tensor in program.inputs]
    lines += [_declaration("output" if t in program.results else "temp", t.name, t.type) for t in targets]
    declared = {*program.inputs, *targets}
    return lines + [_declaration("work", t.name, t.type) for t in others if t not in declared]


def _fragment_header(root: Node) -> list[str]:
    tensors: dict[Tensor, None] = {}
    free: dict[Scalar, None] = {}
    defined: set[str] = set()
    for node in walk(root):  # in the order of the text
        match node:
            case Tensor():
                tensors[node] = None
            case Define(scalar, _):
                defined.add(scalar.name)
            case Scalar(name, _) if name not in defined:
                free[node] = None
            case _:
                pass
    lines = [_declaration("work", tensor.name, tensor.type) for tensor in tensors]
    return lines + [f"scalar {scalar.name}: {scalar.dtype}" for scalar in free]


def _declaration(kind: str, name: str, tensor_type: TensorType) -> str:
    return f"{kind} {name}: {print_type(tensor_type)}"


def _nest(nest: Nest) -> list[str]:
    return [f"nest {nest.target.name} by {nest.assembly}:", *_statements(nest.body, 1)]


def _statements(body: Stmt, depth: int) -> list[str]:
    """The lines of a body, `depth` indentations in."""
    lines: list[str] = []
    stack = [(depth, statement) for statement in reversed(_suite(body))]
    while stack:
        depth, statement = stack.pop()
        head, below = _head(statement)
        lines.append(" " * (_INDENT * depth) + head)
        stack.extend((depth + 1, inner) for inner in reversed(below))
    return lines


def _suite(body: Stmt) -> tuple[Stmt, ...]:
    return body.body if isinstance(body, Block) and len(body.body) > 1 else (body,)


def _head(statement: Stmt) -> tuple[str, tuple[Stmt, ...]]:
    """The first line of a statement, and the statements indented under it."""
    match statement:
        case Loop(index, body):
            return f"for {index.name}:", _suite(body)
        case If(cond, body):
            return f"if {_expression(cond)}:", _suite(body)
        case Assign(target, op, rhs):
            sign = "=" if op is None else _SYMBOLS.get(op.name, f"{op.name}=")
            return f"{_expression(target)} {sign} {_expression(rhs)}", ()
        case Define(scalar, init):
            return f"var {scalar.name}: {scalar.dtype} = {_expression(init)}", ()
        case Declare(tensor, init):
            return f"declare {tensor.name} = {_expression(init)}", ()
        case Freeze(tensor):
            return f"freeze {tensor.name}", ()
        case Block(()):
            return "pass", ()
        case Block(inner):
            return "block:", inner
        case _:
            raise TypeError(f"{type(statement).__name__} is not a statement of Loop IR")


def _expression(expr: LoopExpr | Node) -> str:
    return write(expr, _pieces)


def _pieces(node: Node) -> list[Piece]:
    match node:
        case Index(name) | Scalar(name, _):
            return [name]
        case Access(tensor, index):
            return [f"{tensor.name}{print_index(index)}"]
        case Call(op, (left, right)) if op.name in INFIX:
            infix = INFIX[op.name]
            symbol = f" {infix.op.symbol} "
            return [*_operand(left, infix, first=True), symbol, *_operand(right, infix, first=False)]
        case Literal() | Value() | Size() | Call():
            return scalar_pieces(node)
        case _:
            raise TypeError(f"{type(node).__name__} is not a program, a nest, a statement or an expression of Loop IR")


def _operand(node: Node, outer: Infix, *, first: bool) -> list[Piece]:
    """An operand, in parentheses unless it binds more strongly than the operator around it."""
    inner = INFIX.get(node.op.name) if isinstance(node, Call) and len(node.args) == 2 else None
    loose = inner is not None and (
        inner.strength < outer.strength or (inner.strength == outer.strength and not (first and outer.chains))
    )
    return ["(", node, ")"] if loose else [node]
