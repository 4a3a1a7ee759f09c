"""Postage: parcels, bands of weight, and tax."""
