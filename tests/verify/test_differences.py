"""What differs is found at its part; what a service may do at any time is not."""

import pytest

from app import create_app
from tests.conftest import SAMPLE_SEED
from tests.conftest import TOKEN as OWN_TOKEN
from tests.live import serving
from tests.stub.greased import AXES, greased_app
from tests.verify import differences as parts
from tests.verify.conftest import Service, verify
from tests.verify.differences import DIFFERENCES, GROWTH, Difference, differs, on, on_list, to_post

pytestmark = pytest.mark.process

ENV = {"VERIFY_TOKEN": OWN_TOKEN}


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.name)
def test_a_difference_is_found_at_its_part(difference: Difference) -> None:
    done = verify(difference.service(), level=difference.level)
    assert done.found == difference.findings, done.stdout


@pytest.mark.parametrize("grown", GROWTH, ids=lambda each: each.name)
def test_what_may_grow_or_come_late_is_no_difference(grown: Difference) -> None:
    done = verify(grown.service(), level=grown.level)
    assert (done.status, done.found) == (0, set()), done.stdout


def test_what_was_not_seen_has_a_reason() -> None:
    done = verify(Service())
    assert (
        done.parts[parts.POST_201]["reason"]
        == done.parts[parts.BEARER]["reason"]
        == "needs --write"
    )
    assert done.parts[parts.TAKEN]["reason"] == "needs --write --abuse"
    assert {
        done.parts[each]["verdict"] for each in (parts.POST_201, parts.BEARER, parts.TAKEN)
    } == {"not seen"}
    away = on("invalid", status=303, headers=parts.AWAY, raw=b"")  # neither takes nor rejects it
    assert parts.NAMES in verify(Service(away), level="abuse").seen("not seen")
    assert "no listed project" in verify(Service(sample=0)).parts[parts.STATUS]["reason"]


def test_the_token_is_kept_where_each_operation_was_asked() -> None:
    for change, verdict, reason in (
        (on("none"), "kept", ""),
        (to_post(415), "not seen", "415 tells nothing of the token"),
        (to_post(503), "could not check", "503"),
    ):
        part = verify(Service(change), level="write").parts[parts.BEARER]
        assert (part["verdict"], part["reason"]) == (verdict, reason)


def test_an_item_twice_is_told_as_that() -> None:
    done = verify(Service(on_list(lambda projects: [*projects, projects[0]])))
    assert done.parts[parts.ITEMS]["observed"] == "a project twice"


def test_the_stub_keeps_and_confirms_all() -> None:
    with serving(create_app(seed=SAMPLE_SEED, pace=0), control_prefix="/_stub/") as port:
        done = verify(f"http://127.0.0.1:{port}", level="abuse", env=ENV)
    assert (done.status, done.found) == (0, set())
    cannot = parts.response("BadRequest", "HeadersTooLarge", "InternalError")
    assert done.seen("not seen") == {*cannot, f"{parts.OWNER}/anyOf/1"}  # no list names such a one
    assert len(done.report["created"]) == 1


def test_a_service_that_takes_a_name_alone_differs_and_gets_one_project() -> None:
    app = create_app(seed=SAMPLE_SEED, pace=0, strict=True)
    with serving(app, control_prefix="/_stub/") as port:
        done = verify(f"http://127.0.0.1:{port}", level="write", env=ENV)
    assert (done.status, done.found) == (0, differs(parts.INPUT))
    assert len(done.report["created"]) == 1


def test_grease_is_no_difference_where_the_contract_leaves_it_open() -> None:
    app = greased_app(tuple(AXES), 1, seed=SAMPLE_SEED, pace=0)
    with serving(app, control_prefix="/_stub/") as port:
        done = verify(f"http://127.0.0.1:{port}", level="abuse", env=ENV)
    assert done.found == differs(parts.POST_201, parts.ITEMS)  # success-code, and "Oldest first."
