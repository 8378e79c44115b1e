"""A request in the stub: the fault that it meets, its entry in the journal, and the coverage."""
