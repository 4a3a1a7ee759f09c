"""Tests of the postage."""

import pytest

from post.bands import price
from post.parcels import parcels
from post.tax import with_tax


def test_price_by_band() -> None:
    assert [price(g) for g in (100, 700, 1500, 4000)] == [390, 490, 690, 990]


def test_too_heavy() -> None:
    with pytest.raises(ValueError, match="too heavy"):
        price(5001)


def test_a_parcel_is_never_too_heavy() -> None:
    assert parcels([1200, 900, 400], largest=2000) == [[1200], [900, 400]]


def test_tax() -> None:
    assert with_tax(490, percent=20) == 588
