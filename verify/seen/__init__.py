"""Finds in a log what the responses show: their kinds, the places of records, and secrets.

`find_places.py` finds the places, with `find_projects.py` and then `find_deployment.py`;
`places.py` has the result. `guesses.py` has the guesses by names. `strangers.py` finds the names
and ids of others in a log, and `texts.py` finds them in texts.
"""
