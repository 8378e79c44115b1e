"""Learns and checks a real service.

A source gives a log of exchanges. A log gives an observation: one template for each kind of
response. Two observations give differences.
"""
