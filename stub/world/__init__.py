"""A world: a store of records, a clock, ids and seeds; and all worlds of a stub by name."""
