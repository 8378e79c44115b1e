"""A difference is found at its part. A service may grow at any time."""

import pytest

from tests.conftest import SAMPLE_SEED
from tests.conftest import TOKEN as OWN_TOKEN
from tests.live import serving
from tests.stub.greased import AXES, greased_app
from tests.verify import differences as parts
from tests.verify.conftest import Service, find_verdict, judged, told, verify
from tests.verify.differences import DIFFERENCES, GROWTH, Difference, to_post


@pytest.mark.parametrize("difference", [*DIFFERENCES, *GROWTH], ids=lambda each: each.name)
def test_a_difference_is_found_at_its_part(difference: Difference) -> None:
    result = judged(difference.service, difference.level)
    assert told(result) == difference.findings
    kinds = {each.kind for each in result.findings} - {"unseen"}
    assert kinds == {verdict for _, verdict in difference.findings} - {"could not check"}


# A service, the level, a part, and the verdict with its reason.
NOT_SEEN = ("not seen", "")
VERDICTS = [
    *((Service(sample=0), "read", part, NOT_SEEN) for part in (
        parts.BEARER, parts.POST_201, parts.TAKEN, parts.STATUS
    )),
    (Service(sample=0), "write", parts.BEARER, ("kept", "")),  # for the created deployment, too
    (Service(to_post(503)), "write", parts.BEARER, ("could not check", "503")),
]  # fmt: skip


def test_what_no_request_of_a_run_shows_is_not_seen() -> None:
    for service, level, part, verdict in VERDICTS:
        assert find_verdict(part, judged(service, level)) == verdict


@pytest.mark.process
def test_grease_is_no_difference_where_the_contract_leaves_it_open() -> None:
    app = greased_app(tuple(AXES), 1, seed=SAMPLE_SEED, pace=0)
    with serving(app) as port:
        url = f"http://127.0.0.1:{port}"
        done = verify(url, "--write", env={"VERIFY_TOKEN": OWN_TOKEN})
    parts_found = done.report["parts"]
    found = {each["part"] for each in parts_found if each["verdict"] in ("broken", "differs")}
    assert found == {parts.POST_201, parts.ITEMS}  # success-code, and "Oldest first."
