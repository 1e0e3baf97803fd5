"""Fresh names for one compilation: no module counters, so the same program always gets the same names."""

__all__ = ["Names"]


class Names:
    """Hands out names that are not taken yet.  Seed it with the names the program already uses."""

    def __init__(self, taken: tuple[str, ...] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """`stem` if it is free, else `stem_2`, `stem_3`, ..."""
        if stem not in self._taken:
            self._taken.add(stem)
            return stem
        number = self._next.get(stem, 2)
        while f"{stem}_{number}" in self._taken:
            number += 1
        self._next[stem] = number + 1
        name = f"{stem}_{number}"
        self._taken.add(name)
        return name
