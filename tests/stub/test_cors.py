"""An origin is one that a browser sends; the recorded table has the requests of pages."""

import pytest

from tests.conftest import make_stub

NO_ORIGINS = (
    "localhost", "http://localhost:3000/", "", "//a", "null", "a b", "http://LOCALHOST:5173", "http://a:80",
    "https://a:443", "https://*.example", "http://a:b", "http://a:", "http://\u00fc",
)  # fmt: skip


def test_an_app_is_not_made_with_an_invalid_origin() -> None:
    for origin in NO_ORIGINS:
        with pytest.raises(ValueError, match="origin"):
            make_stub(cors_origins=[origin])
