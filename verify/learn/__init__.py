"""Makes the profile of a service from a log, without the names, ids and secrets of others."""
