"""Finds in a log what the responses show: their kinds, the places of records, and secrets.

`find_places.py` finds the places in the order of `find_creation.py`, `find_list.py` and
`find_deployment.py`; `places.py` has the result. `guesses.py` has the guesses by names.
"""
