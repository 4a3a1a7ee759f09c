"""Prices by weight."""

# The heaviest parcel of each band in grams, and its price in cents.
BANDS = [(500, 390), (1000, 490), (2000, 690), (5000, 990)]


def price(grams: int) -> int:
    """Return the price of a parcel in cents.

    A band holds every parcel up to its heaviest, that one included. What no
    band holds raises ValueError.
    """
    for heaviest, cents in BANDS:
        if grams < heaviest:
            return cents
    raise ValueError(f"{grams} g is too heavy")
