"""What differs is found at its part; what a service may do at any time is not."""

import pytest
from _pytest.mark import ParameterSet

from tests.verify import differences, error_differences, growth
from tests.verify.changes import every_other, of_projects, on, put, renamed, without
from tests.verify.error_differences import of_errors, of_fields
from tests.verify.parts import (
    ALLOW,
    BEARER,
    CACHE,
    CODE,
    CREATED,
    DEP_404,
    ITEMS,
    LARGE,
    LIST,
    MALFORMED,
    MEDIA,
    METHOD,
    POINTER,
    POST_201,
    PROJECTS,
    PSTATUS,
    STATUS,
    TAKEN,
    TITLE,
    UNAUTHORIZED,
    UNKNOWN,
    Difference,
    broken,
    differs,
)
from tests.verify.service import Service
from tests.verify.verified import find, verify

pytestmark = pytest.mark.process

DIFFERENCES = [*differences.DIFFERENCES, *error_differences.DIFFERENCES]


def in_part(table: list[Difference]) -> list[ParameterSet]:
    """Every third one in the command of the README, all in .ci/run."""
    return [
        pytest.param(each, marks=[pytest.mark.slow] if index % 3 else [], id=each.name)
        for index, each in enumerate(table)
    ]


def test_the_tables_have_each_name_once() -> None:
    names = [each.name for each in (*DIFFERENCES, *growth.GROWTH)]
    assert sorted(names) == sorted({*names})


@pytest.mark.parametrize("difference", in_part(DIFFERENCES))
def test_a_difference_is_found_at_its_part(difference: Difference) -> None:
    find(difference)


# What is not there, or not readable, is told once, and not by each probe that needs it.
TOLD_ONCE = (
    *("v2", "list is null", "projects null", "projects by id"),
    *("projects are ids", "POST 404", "POST 405", "POST 403", "POST 415", "POST 501"),
    *("another error shape", "a member is required", "deployment 404", "deployment 405"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", TOLD_ONCE)
def test_nothing_follows_from_a_difference_at_another_level(name: str) -> None:
    (difference,) = [each for each in DIFFERENCES if each.name == name]
    find(difference, "abuse")


@pytest.mark.parametrize("grown", in_part(growth.GROWTH))
def test_what_may_grow_or_come_late_is_no_difference(grown: Difference) -> None:
    done = find(grown)
    assert done.status == 0, done.stderr


def test_twelve_differences_and_three_broken_promises_are_found_together() -> None:
    service = Service(
        on("deployment", body=without("status")),
        on("created", status=200),
        of_projects(put(created_at=1767603600)),
        on("list", status=404),
        on("no deployment", status=410),
        on("unknown", status=400),
        on("method", headers={"Allow": None}),
        of_errors(without("title")),
        on("malformed", status=422),
        of_fields(renamed("pointer", "field")),
        on("large", status=400),
        on("anonymous", "unauthorized", status=403),
        open_deployments=True,
        unique=False,
        needs_media_type=False,
    )
    done = verify(service, level="abuse")
    assert done.found == broken(LIST, STATUS, BEARER) | differs(
        POST_201,
        CREATED,
        DEP_404,
        UNKNOWN,
        ALLOW,
        TITLE,
        MALFORMED,
        POINTER,
        LARGE,
        UNAUTHORIZED,
        TAKEN,
        MEDIA,
    )
    assert done.status == 1


def test_an_unstable_part_is_unstable_whatever_else_was_seen() -> None:
    service = Service(every_other(on("method", status=204)), on("method", headers={"Allow": None}))
    done = verify(service)
    assert (METHOD, "unstable") in done.found
    assert not done.found & differs(METHOD)


def test_a_boolean_is_no_number() -> None:
    done = verify(Service(of_errors(put(status=True))))
    assert done.found == differs(PSTATUS)
    assert done.parts[PSTATUS]["observed"] == "boolean"


def test_what_needs_another_level_is_not_seen_with_the_reason() -> None:
    done = verify(Service())
    assert "--write" in done.parts[POST_201]["reason"]
    assert "--abuse" in done.parts[TAKEN]["reason"]
    assert {done.parts[each]["verdict"] for each in (POST_201, TAKEN)} == {"not seen"}
    assert done.parts[ITEMS]["verdict"] == "confirmed"
    assert done.parts[CACHE]["verdict"] == "confirmed"
    assert done.parts[CODE]["verdict"] == "confirmed"
    assert done.parts[PROJECTS]["verdict"] == "confirmed"
