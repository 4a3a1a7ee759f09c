"""Packs the things of an order."""


def parcels(grams: list[int], largest: int) -> list[list[int]]:
    """Pack things into as few parcels as the order they come in allows.

    A parcel weighs at most largest, and a thing that weighs more goes alone.
    No parcel is empty, so that an order of nothing needs none.
    """
    packed: list[list[int]] = [[]]
    for thing in grams:
        if sum(packed[-1]) + thing > largest:
            packed.append([])
        packed[-1].append(thing)
    return packed
