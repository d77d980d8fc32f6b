"""A mapping of bounded size that forgets the least recently used entry."""

from collections import OrderedDict
from typing import Generic, TypeVar, final

_K = TypeVar("_K")
_V = TypeVar("_V")


@final
class Lru(Generic[_K, _V]):
    """Keeps the `size` entries that were read or written last.

    Threads may share it without a lock: an entry that another thread drops counts as missing.

    Examples:
        >>> cache = Lru[str, int](size=2)
        >>> cache["a"], cache["b"] = 1, 2
        >>> cache.get("a")
        1
        >>> cache["c"] = 3
        >>> "a" in cache, "b" in cache, len(cache)
        (True, False, 2)
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._entries: OrderedDict[_K, _V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: _K) -> bool:
        return key in self._entries

    def __setitem__(self, key: _K, value: _V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self.size:
            self._entries.popitem(last=False)

    def get(self, key: _K) -> _V | None:
        """The value of a key, or None."""
        if key not in self._entries:  # an exception would take three times as long
            return None
        try:
            self._entries.move_to_end(key)
            return self._entries[key]
        except KeyError:
            return None
