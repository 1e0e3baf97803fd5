"""The first lines of a Matrix Market file: banner, comments, size line (Boisvert, Pozo, Remington 1996)."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from finchsched.errors import FileFormatError
from finchsched.io.text_source import TextSource, shown

__all__ = ["Field", "Header", "Layout", "Symmetry", "read_header"]

Layout: TypeAlias = Literal["coordinate", "array"]
Field: TypeAlias = Literal["real", "integer", "unsigned-integer", "complex", "pattern"]
Symmetry: TypeAlias = Literal["general", "symmetric", "skew-symmetric", "hermitian"]

_BANNER = "a line like '%%MatrixMarket matrix coordinate real general'"
_INT64_MAX = 2**63 - 1
_MAGIC = {"gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ"}
_BANNER_WORDS = (b"%%matrixmarket", b"%matrixmarket")  # the second is wrong but in use
_SYNONYMS = {"double": "real"}


@dataclass(frozen=True, slots=True)
class Header:
    """What the first lines declare.  `entries` is the number of data lines that must follow; nothing else is believed.

    `shape` is (rows, columns), square unless the symmetry is general; `size_line` is the one-based line of the sizes.
    """

    layout: Layout
    field: Field
    symmetry: Symmetry
    shape: tuple[int, int]
    entries: int
    size_line: int


def read_header(source: TextSource) -> Header:
    """Read banner, comments and size line, leaving `source` at the first line after them.

    Raises FileFormatError for an empty file, a file that is not Matrix Market, an unknown or impossible combination of
    words, and a size line that is missing, malformed, negative, over int64, or not square where it has to be.
    """
    layout, field, symmetry = _read_banner(source)
    sizes = _read_sizes(source, 3 if layout == "coordinate" else 2)
    rows, columns = sizes[:2]
    if symmetry != "general" and rows != columns:
        raise source.refusal(source.line, f"{rows} rows and {columns} columns", f"a square matrix, as it is {symmetry}")
    entries = sizes[2] if layout == "coordinate" else _stored_in_array(rows, columns, symmetry)
    return Header(layout, field, symmetry, (rows, columns), entries, source.line)


def _stored_in_array(rows: int, columns: int, symmetry: Symmetry) -> int:
    match symmetry:
        case "general":
            return rows * columns
        case "skew-symmetric":
            return rows * (rows - 1) // 2
        case "symmetric" | "hermitian":
            return rows * (rows + 1) // 2


def _read_banner(source: TextSource) -> tuple[Layout, Field, Symmetry]:
    line = source.read_line()
    if line is None:
        raise source.refusal(1, "an empty file", _BANNER)
    words = line.split()
    if not words or words[0].lower() not in _BANNER_WORDS:
        raise _no_banner(source, line)
    if len(words) != 5:
        raise source.refusal(1, shown(line, 80), f"five words, {_BANNER}")
    kind, layout, field, symmetry = (word.lower().decode("ascii", "backslashreplace") for word in words[1:])
    field = _SYNONYMS.get(field, field)
    _one_of(source, "object", kind, ("matrix",))
    _one_of(source, "layout", layout, get_args(Layout))
    _one_of(source, "field", field, get_args(Field))
    _one_of(source, "symmetry", symmetry, get_args(Symmetry))
    if layout == "array" and field == "pattern":
        raise source.refusal(1, "an array with the field pattern", "values: an array has no positions to store")
    return cast(Layout, layout), cast(Field, field), cast(Symmetry, symmetry)


def _one_of(source: TextSource, what: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise source.refusal(1, f"the {what} {shown(word.encode())}", " or ".join(known))


def _no_banner(source: TextSource, line: bytes) -> FileFormatError:
    for suffix, magic in _MAGIC.items():
        if line.startswith(magic):
            hint = f"rename the file so that its name ends in .{suffix}"
            return source.refusal(1, f"{suffix}-compressed data", _BANNER, hint)
    return source.refusal(1, shown(line), _BANNER, "this is not a Matrix Market file")


def _read_sizes(source: TextSource, count: int) -> list[int]:
    expected = "rows, columns and number of entries" if count == 3 else "rows and columns"
    while (line := source.read_line()) is not None:
        words = line.split()
        if not words or words[0].startswith(b"%"):
            continue
        if len(words) != count or not all(word.isdigit() for word in words):
            raise source.refusal(source.line, shown(line), f"{count} whole numbers: {expected}")
        if any(len(word) > 19 or int(word) > _INT64_MAX for word in words):
            raise source.refusal(source.line, shown(line, 80), f"sizes up to {_INT64_MAX}")
        return [int(word) for word in words]
    raise source.refusal(source.line, "the end of the file", f"a line with {expected}", "the file may be truncated")
