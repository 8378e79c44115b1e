"""The exchanges between a client and a service: their parts, walks through JSON, and masking."""
