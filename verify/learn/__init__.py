"""Makes the profile of a service from a log, without the names, ids and secrets of others.

`templates.py` makes a template of each kind of response: `unify.py` joins several bodies, with
markers for the values in `known.py`. `infer.py` makes the profile of the templates, after
`privacy.py` has cleaned them; `join.py` joins it with an older profile.
"""
