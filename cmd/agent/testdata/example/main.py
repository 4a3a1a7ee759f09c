"""Prints the report of a small shop."""

from shop.report import report
from shop.stock import Stock


def main() -> None:
    """Fill the shelf and print what is on it."""
    stock = Stock()
    stock.add("apple", 5)
    stock.add("pear", 2)
    stock.take("apple", 1)
    print(report(stock, ["apple", "pear"]))


if __name__ == "__main__":
    main()
