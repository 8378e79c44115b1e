"""`verify` on the stub itself, and with grease."""

import pytest

from app import create_app
from tests.conftest import SAMPLE_SEED, TOKEN
from tests.live import serving
from tests.stub.greased import AXES, greased_app
from tests.verify.parts import INPUT, ITEMS, POST_201, differs, response, schema
from tests.verify.verified import verify

pytestmark = pytest.mark.process

ENV = {"VERIFY_TOKEN": TOKEN}
CANNOT = {
    *map(response, ("BadRequest", "HeadersTooLarge", "InternalError")),
    f"{schema('Deployment', 'project_id')}/anyOf/1",  # no list names such a one
}


def test_the_stub_keeps_and_confirms_all() -> None:
    with serving(create_app(seed=SAMPLE_SEED, pace=0), control_prefix="/_stub/") as port:
        done = verify(f"http://127.0.0.1:{port}", level="abuse", env=ENV)
    assert (done.status, done.found) == (0, set())
    assert done.seen("not seen") == CANNOT
    assert len(done.report["created"]) == 1


def test_a_service_that_takes_a_name_alone_differs_and_gets_one_project() -> None:
    app = create_app(seed=SAMPLE_SEED, pace=0, strict=True)
    with serving(app, control_prefix="/_stub/") as port:
        done = verify(f"http://127.0.0.1:{port}", level="write", env=ENV)
    assert done.status == 0
    assert done.found == differs(INPUT)
    assert len(done.report["created"]) == 1


def test_grease_is_no_difference_where_the_contract_leaves_it_open() -> None:
    app = greased_app(tuple(AXES), 1, seed=SAMPLE_SEED, pace=0)
    with serving(app, control_prefix="/_stub/") as port:
        done = verify(f"http://127.0.0.1:{port}", level="abuse", env=ENV)
    assert done.found == differs(POST_201, ITEMS)  # success-code, and "Oldest first."
