"""Around the views: one shape of errors, strict JSON, schemas, times, files, the raw path."""
