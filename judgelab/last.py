"""The last thing made, kept for who asks for the same again: the points of a sweep over one run's records.

Invariant: what is returned was made for this very key; one thing is kept, so memory holds no second run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Last(Generic[T]):
    """One value and the key that it was made for."""

    def __init__(self) -> None:
        self._held: tuple[object, T] | None = None

    def get(self, key: object, make: Callable[[], T]) -> T:
        """What was made for `key` last, or else made now."""
        held = self._held
        if held is None or held[0] != key:
            self._held = held = None  # the old one may be large: let it go before the new one is made
            self._held = held = (key, make())
        return held[1]
