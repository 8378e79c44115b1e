"""Where tests/test_readme.py finds `write_pact`."""

from tests.stub.test_pact import write_pact

__all__ = ["write_pact"]
