"""Prints what it costs to send an order of three things."""

from post.bands import price
from post.parcels import parcels
from post.tax import with_tax


def main() -> None:
    """Pack an order and print the price of each parcel, and of all."""
    total = 0
    for parcel in parcels([1200, 900, 400], largest=2000):
        cost = with_tax(price(sum(parcel)), percent=20)
        total += cost
        print(f"{sum(parcel):>5} g  {cost / 100:.2f}")
    print(f"  all    {total / 100:.2f}")


if __name__ == "__main__":
    main()
