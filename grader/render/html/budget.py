"""How large a page may become: pieces are taken in their fullest form that still fits."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup


class Budget:
    """Counts the bytes that are left of a page, or of a part of it."""

    def __init__(self, size: int) -> None:
        self.left = size

    def fit(self, *forms: Callable[[], Markup]) -> Markup:
        """Return the first form that fits, else nothing. The forms become smaller and smaller."""
        for form in forms:
            piece = form()
            size = len(piece.encode("utf-8", "replace"))
            if size <= self.left:
                self.left -= size
                return piece
        return Markup()

    def part(self, most: int) -> Budget:
        """Take away what a part may use at most; what it leaves comes back by `give_back`."""
        size = min(most, self.left)
        self.left -= size
        return Budget(size)

    def give_back(self, part: Budget) -> None:
        """Take back what a part has not used."""
        self.left += part.left
        part.left = 0
