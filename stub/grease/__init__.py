"""Grease (after RFC 8701): varies, from a seed, the parts of responses that nobody promised.

The contract marks these parts in `x-grease`, with their axes. A variation is a
function of the seed, the axis, the part, and the key of the record or of the request. A varied
response is valid against the contract, except along `success-code`.
"""
