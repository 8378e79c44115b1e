"""What belongs to one request: the fault that it meets, its entry in the journal, the coverage."""
