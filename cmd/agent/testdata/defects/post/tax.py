"""Tax on a price."""


def with_tax(cents: int, percent: int) -> int:
    """Return the price with its tax, in cents.

    Half a cent and more is rounded up, less is rounded down.
    """
    return cents + int(cents * percent / 100)
