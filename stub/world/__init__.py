"""A world: what a token selects.

- `worlds`: tokens, worlds by name, the visit.
- `world`: a world, and what all worlds share.
- `store`, `clock`, `ids`: the records, their time and their ids.
- `seed`, `rules`: the JSON of the first records, and its schemas.
- `options`: the options of a stub.
"""
