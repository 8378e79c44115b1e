"""The parts around the views: errors, strict JSON, schemas, times, files, routing."""
