"""What is on the shelf."""


class Stock:
    """Counts items by name."""

    def __init__(self) -> None:
        self._items: dict[str, int] = {}

    def add(self, name: str, count: int) -> None:
        """Put count items of that name on the shelf."""
        self._items[name] = self._items.get(name, 0) + count

    def take(self, name: str, count: int) -> None:
        """Take count items of that name from the shelf."""
        self._items[name] = self._items.get(name, 0) - count

    def level(self, name: str) -> int:
        """Return how many items of that name are on the shelf."""
        return self._items.get(name, 0)
