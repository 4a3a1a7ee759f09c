"""Tests of the shelf."""

from shop.report import report
from shop.stock import Stock


def test_add_and_take() -> None:
    stock = Stock()
    stock.add("apple", 3)
    stock.take("apple", 1)
    assert stock.level("apple") == 2


def test_report() -> None:
    stock = Stock()
    stock.add("pear", 2)
    assert report(stock, ["pear"]) == "pear          2"
