"""Learns and checks a real service.

The rooms, in the order of a run:

- `sources`: a script, a HAR file or a recording proxy gives a log of exchanges.
- `seen`: the kind of each response, and the places of the projects, ids and statuses.
- `judges`: checks by the rules of the interface, the contract and a profile.
- `learn`: the profile of the service, for `--save`.

`judge.py` calls the last three, and selects the findings; `report.py` describes them.

Read first, in this order:
`seen/service_log.py`, `seen/kinds.py`, `seen/places.py`, `judges/checks.py`, `judge.py`.
"""
