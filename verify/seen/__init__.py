"""Finds in a log what the responses show: their kinds, the places of records, and secrets."""
