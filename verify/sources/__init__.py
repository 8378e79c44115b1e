"""Gets the exchanges with a service: by a script, from a HAR file, or through a recording proxy."""
