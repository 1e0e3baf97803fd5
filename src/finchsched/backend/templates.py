"""The statements that are written out as loops: search, sort, fill.  All arithmetic is on uint64."""

from collections.abc import Callable

__all__ = ["fill_lines", "search_lines", "sort_lines"]

RUN = 24
"""Ranges up to this long are sorted by insertion."""

_SEARCH = """\
{s} = {lo}
{e} = {hi}
{w} = {one}
while {s} + {w} <= {e} and {read}{buffer}[{s} + {w} - {one}]{end} < {key}:
    {s} = {s} + {w}
    {w} = {w} + {w}
if {s} + {w} <= {e}:
    {e} = {s} + {w} - {one}
while {s} < {e}:
    {m} = ({s} + {e}) >> {one}
    if {read}{buffer}[{m}]{end} < {key}:
        {s} = {m} + {one}
    else:
        {e} = {m}
{var} = {s}
"""

_SORT = """\
{s} = {lo}
while {s} < {hi}:
    {e} = {s} + {run}
    if {e} > {hi}:
        {e} = {hi}
    for {j} in range({s} + {one}, {e}):
        {x} = {buffer}[{j}]
        {k} = {j}
        while {k} > {s} and {buffer}[{k} - {one}] > {x}:
            {buffer}[{k}] = {buffer}[{k} - {one}]
            {k} = {k} - {one}
        {buffer}[{k}] = {x}
    {s} = {e}
{w} = {run}
while {lo} + {w} < {hi}:
    {s} = {lo}
    while {s} + {w} < {hi}:
        {m} = {s} + {w}
        {e} = {m} + {w}
        if {e} > {hi}:
            {e} = {hi}
        if {buffer}[{m} - {one}] > {buffer}[{m}]:
            for {j} in range({zero}, {w}):
                {scratch}[{j}] = {buffer}[{s} + {j}]
            {k} = {s}
            {a} = {zero}
            while {a} < {w} and {m} < {e}:
                {x} = {scratch}[{a}]
                {y} = {buffer}[{m}]
                {t} = {cast}({y} < {x})
                {buffer}[{k}] = {y} if {y} < {x} else {x}
                {m} = {m} + {t}
                {a} = {a} + {one} - {t}
                {k} = {k} + {one}
            while {a} < {w}:
                {buffer}[{k}] = {scratch}[{a}]
                {a} = {a} + {one}
                {k} = {k} + {one}
        {s} = {e}
    {w} = {w} + {w}
"""


def search_lines(
    fresh: Callable[[str], str],
    *,
    var: str,
    buffer: str,
    lo: str,
    hi: str,
    key: str,
    one: str,
    cast: str,
) -> list[str]:
    """Gallop from `lo`, then bisect: O(log(answer - lo)).

    `key` is a name; `cast` converts an element to the type of the key, "" if it has it.
    """
    own = {short: fresh(stem) for short, stem in (("s", "first"), ("e", "last"), ("w", "step"), ("m", "mid"))}
    read, end = (f"{cast}(", ")") if cast else ("", "")
    text = _SEARCH.format(**own, var=var, buffer=buffer, lo=lo, hi=hi, key=key, one=one, read=read, end=end)
    return text.splitlines()


def sort_lines(
    fresh: Callable[[str], str],
    *,
    buffer: str,
    scratch: str,
    lo: str,
    hi: str,
    zero: str,
    one: str,
    run: str,
    cast: str,
) -> list[str]:
    """Runs of RUN sorted by insertion, then merged bottom up through `scratch`; O(n) if sorted."""
    stems = {
        "s": "start",
        "e": "stop",
        "m": "mid",
        "w": "width",
        "j": "j",
        "k": "k",
        "a": "left",
        "x": "x",
        "y": "y",
        "t": "taken",
    }
    own = {short: fresh(stem) for short, stem in stems.items()}
    text = _SORT.format(**own, buffer=buffer, scratch=scratch, lo=lo, hi=hi, zero=zero, one=one, run=run, cast=cast)
    return text.splitlines()


def fill_lines(fresh: Callable[[str], str], *, buffer: str, lo: str, hi: str, value: str) -> list[str]:
    """`buffer[lo:hi] = value`; `value` is a name."""
    k = fresh("k")
    return [f"for {k} in range({lo}, {hi}):", f"    {buffer}[{k}] = {value}"]
