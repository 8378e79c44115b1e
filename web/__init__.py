"""Around the views: strict JSON, one shape of errors, masking, and routing by the raw path."""
