"""Checks a log by the rules of the interface, by the contract, by a profile, and for gaps."""
