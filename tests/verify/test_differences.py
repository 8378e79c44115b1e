"""What differs is found at its part; what a service may do at any time is not."""

import pytest
from flask import Flask

from tests.conftest import SAMPLE_SEED, make_stub
from tests.conftest import TOKEN as OWN_TOKEN
from tests.live import serving
from tests.stub.greased import AXES, greased_app
from tests.verify import differences as parts
from tests.verify.conftest import Service, Verified, verify
from tests.verify.differences import DIFFERENCES, GROWTH, Difference, differs, on, to_post

pytestmark = pytest.mark.process


@pytest.mark.parametrize("difference", [*DIFFERENCES, *GROWTH], ids=lambda each: each.name)
def test_a_difference_is_found_at_its_part(difference: Difference) -> None:
    done = verify(difference.service, level=difference.level)
    assert done.found == difference.findings, done.stdout
    is_broken = any(verdict == "broken" for _, verdict in difference.findings)
    assert done.status == (is_broken or "finding: unseen: " in done.stdout)


def test_what_no_request_of_a_run_shows_is_not_seen() -> None:
    done = verify(Service(sample=0))
    for part in (parts.BEARER, parts.POST_201, parts.TAKEN, parts.STATUS):
        assert done.parts[part]["verdict"] == "not seen"


def test_the_token_is_kept_where_each_operation_was_asked() -> None:
    for service, verdict, reason in (
        (Service(sample=0), "kept", ""),  # for the created deployment, too
        (Service(to_post(302)), "not seen", "no response showed it"),
        (Service(to_post(415)), "not seen", "no response showed it"),
        (Service(to_post(503)), "could not check", "503"),
    ):
        done = verify(service, level="write")
        part = done.parts[parts.BEARER]
        assert done.found <= {(parts.BEARER, "could not check")}
        assert (part["verdict"], part["reason"]) == (verdict, reason)


def verify_app(app: Flask) -> Verified:
    with serving(app) as port:
        return verify(f"http://127.0.0.1:{port}", level="write", env={"VERIFY_TOKEN": OWN_TOKEN})


def test_the_stub_keeps_and_confirms_all() -> None:
    done = verify_app(make_stub(seed=SAMPLE_SEED, pace=0))
    assert (done.status, done.found) == (0, set())
    reasons = {each["reason"] for each in done.parts.values() if each["verdict"] == "not seen"}
    assert reasons == {"no response showed it"}
    assert len(done.report["created"]) == 1


def test_a_service_that_takes_a_name_alone_differs_and_gets_one_project() -> None:
    done = verify_app(make_stub(seed=SAMPLE_SEED, pace=0, strict=True))
    assert (done.status, done.found) == (0, differs(parts.INPUT))
    assert len(done.report["created"]) == 1
    other = on("created", status=400, has=lambda each: b"stubverify" in each.body)
    assert verify(Service(other), level="write").requests["deployment"]


def test_grease_is_no_difference_where_the_contract_leaves_it_open() -> None:
    done = verify_app(greased_app(tuple(AXES), 1, seed=SAMPLE_SEED, pace=0))
    assert done.found == differs(parts.POST_201, parts.ITEMS)  # success-code, and "Oldest first."
