"""docs/like.md is true: the stub with its profile responds as printed."""

import json
from itertools import pairwise

from profiles.profile import make_profile
from stub.seed import sample_of
from tests.conftest import make_stub
from tests.docs.documents import blocks_of, files_of
from tests.docs.test_examples import curl
from web.times import parse_time

NAME = "docs/like.md"
SERVICE = make_profile(json.loads(files_of(NAME)["service.json"]))


def test_every_curl_gets_the_response_that_is_printed() -> None:
    frozen = parse_time("2026-11-25T20:38:08.068Z")
    app = make_stub(seed=sample_of(SERVICE), pace=300, like=SERVICE, ids_seed=7, freeze=frozen)
    client = app.test_client()
    for (_, command), (_, printed) in pairwise(blocks_of(NAME)):
        if command.startswith("curl "):
            assert curl(command, client) == f"{printed}\n", command
