"""The one source of randomness of the generator: the same key, the same choices, on any machine.

Only `Random.getrandbits` of a Mersenne Twister seeded with an integer is used: its words are the
same in every CPython, and every choice is integer arithmetic on them.
"""

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Choices that follow from `key` alone (numbers and strings, in order)."""

    __slots__ = ("_bits",)

    def __init__(self, *key: int | str) -> None:
        digest = hashlib.sha256("\x1f".join(map(str, key)).encode()).digest()
        self._bits = random.Random(int.from_bytes(digest[:16], "big")).getrandbits

    def below(self, n: int) -> int:
        """An integer in [0, n)."""
        return self._bits(32) * n >> 32

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high], both ends included."""
        return low + (self._bits(32) * (high - low + 1) >> 32)

    def chance(self, percent: int) -> bool:
        """True in `percent` of 100 cases."""
        return self._bits(32) * 100 >> 32 < percent

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, each with the same weight."""
        return options[self._bits(32) * len(options) >> 32]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """All items in random order (Fisher–Yates)."""
        out = list(items)
        for i in range(len(out) - 1, 0, -1):
            j = self._bits(32) * (i + 1) >> 32
            out[i], out[j] = out[j], out[i]
        return out

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        """`k` different items in random order, or all of them if there are fewer."""
        return self.shuffled(items)[:k]
