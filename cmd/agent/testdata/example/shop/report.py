"""Reports for people."""

from shop.stock import Stock


def line(stock: Stock, name: str) -> str:
    """Return one line of the report."""
    return f"{name:<10} {stock.level(name):>4}"


def report(stock: Stock, names: list[str]) -> str:
    """Return the whole report, one line a name."""
    return "\n".join(line(stock, name) for name in names)
