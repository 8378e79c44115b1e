"""Learns and checks a real service.

A source (`script`, `har` or `record`) gives a log of exchanges. `judge` judges a log: by the rules
of the interface, by the contract, and by a profile. `infer` makes the profile of the service.
"""
