"""What differs is found at its part; what a service may do at any time is not."""

from typing import Any

import pytest

from tests.verify.changes import of_errors, of_projects, on, put, without
from tests.verify.differences import DIFFERENCES, GROWTH
from tests.verify.parts import (
    ALLOW,
    BEARER,
    CREATED,
    DEP_404,
    ITEMS,
    LATEST,
    LIST,
    MEDIA,
    POST_201,
    STATUS,
    TAKEN,
    TITLE,
    UNAUTHORIZED,
    Difference,
    broken,
    differs,
)
from tests.verify.service import Request, Response, Service
from tests.verify.verified import find, verify

pytestmark = pytest.mark.process


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.name)
def test_a_difference_is_found_at_its_part(difference: Difference) -> None:
    find(difference)


@pytest.mark.parametrize("grown", GROWTH, ids=lambda each: each.name)
def test_what_may_grow_or_come_late_is_no_difference(grown: Difference) -> None:
    assert find(grown).status == 0


def test_what_differs_together_is_found_together() -> None:
    service = Service(
        on("deployment", body=without("status")),
        on("created", status=200),
        of_projects(put(created_at=1767603600)),
        on("list", status=404),
        on("no deployment", status=410),
        on("method", headers={"Allow": None}),
        of_errors(without("title")),
        on("anonymous", "unauthorized", status=403),
        opens="deployments",
        unique=False,
        needs_media_type=False,
    )
    done = verify(service, level="abuse")
    different = (POST_201, CREATED, DEP_404, ALLOW, TITLE, UNAUTHORIZED, TAKEN, MEDIA)
    assert done.found == broken(LIST, STATUS, BEARER) | differs(*different)
    assert done.status == 1


def test_what_needs_another_level_is_not_seen_with_the_reason() -> None:
    done = verify(Service())
    assert done.parts[POST_201]["reason"] == done.parts[BEARER]["reason"] == "needs --write"
    assert done.parts[TAKEN]["reason"] == "needs --write --abuse"
    assert {done.parts[each]["verdict"] for each in (POST_201, BEARER, TAKEN)} == {"not seen"}
    assert "no listed project" in verify(Service(sample=0)).parts[STATUS]["reason"]


def test_the_token_is_kept_where_each_operation_was_asked() -> None:
    assert verify(Service(), level="write").parts[BEARER]["verdict"] == "kept"
    silent = Service(on("unauthorized", status=415, has=lambda each: each.method == "POST"))
    part = verify(silent, level="write").parts[BEARER]
    assert (part["verdict"], part["reason"]) == ("not seen", "415 tells nothing of the token")
    limited = Service(on("unauthorized", status=503, has=lambda each: each.method == "POST"))
    assert verify(limited, level="write").parts[BEARER]["verdict"] == "could not check"


def test_an_id_of_no_deployment_is_no_broken_path() -> None:
    done = verify(Service(on("deployment", status=404)), level="write")
    assert done.found == differs(LATEST)


@pytest.mark.parametrize("level", ["read", "write"])
def test_a_status_that_goes_back_is_told(level: str) -> None:
    def back(response: Response, request: Request, number: int) -> None:
        if response.case == "deployment" and "?" not in request.target:
            response.body["status"] = "failed" if number == 0 else "building"

    done = verify(Service(back), level=level)
    assert "agrees; went back after its end" in done.stdout
    assert "went back" not in verify(Service(), level=level).stdout


def test_an_item_twice_is_told_as_that() -> None:
    def edit(projects: list[dict[str, Any]]) -> list[dict[str, Any]]:
        days = enumerate(projects, 1)
        dated = [{**each, "created_at": f"2026-01-0{day}T09:00:00Z"} for day, each in days]
        return [*dated, dated[0]]

    done = verify(Service(on("list", body=put(projects=edit))))
    assert done.parts[ITEMS]["observed"] == "a project twice"
