"""The parts around the views.

The service needs `problems`, `strict_json`, `validation`, `routing` and `files`. Only its stub and
`verify` need `schemas`, `documents`, `times` and `patterns`.
"""
