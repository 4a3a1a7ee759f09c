"""A small shop: what the demo and the tests prove patches against."""
