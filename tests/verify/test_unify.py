"""The template of several readings: markers, constants, choices, and values that vary."""

from typing import Any

import pytest

from profiles.markers import CHOICE
from verify.learn.known import Known, make_base_pattern
from verify.learn.unify import Reading, unify
from verify.seen.service_log import shorten_value

NAMED = (("deployment.id", "d-77"), ("project.id", 41), ("project.name", "shop"))
SINCE = 1795639088.0  # 2026-11-25T20:38:08Z
KNOWN = Known(NAMED, None, (SINCE - 60, SINCE + 60))
TIME = "2026-11-25T20:38:08"


def unify_bodies(*bodies: Any, known: Known = KNOWN, words: str = "") -> tuple[Any, list[Any]]:
    """Unify bodies with these words; return the template, and the varying paths."""
    statuses = words.split() or [""] * len(bodies)
    readings = [Reading(body, known, word) for body, word in zip(bodies, statuses, strict=True)]
    found = unify(readings)
    return found.body, sorted(found.varying, key=str)


VALUES: list[tuple[Any, Any]] = [
    ({"id": "d-77"}, {"id": "{deployment.id}"}),
    ({"id": 41, "port": 41}, {"id": "{project.id}", "port": 41}),  # by chance
    ({"projectId": "41"}, {"projectId": "{project.id:text}"}),
    ({"url": "https://d-77.example/shop"},
     {"url": "https://{deployment.id}.example/{project.name}"}),
    ({"to": "/x/41?y=41", "at": "1.41"}, {"to": "/x/{project.id}?y={project.id}", "at": "1.41"}),
    ({"text": "{count} {x}"}, {"text": "count {x}"}),  # no marker of ours
    ({"n": 5, "m": 5.0, "b": True, "x": None}, {"n": 5, "m": 5.0, "b": True, "x": None}),
    ({"at": f"{TIME}.068Z"}, {"at": "{project.created_at}"}),
    ({"at": f"{TIME}Z"}, {"at": "{project.created_at:2026-01-05T09:00:00Z}"}),
    ({"at": f"{TIME.replace('T', ' ')}+00:00"},
     {"at": "{project.created_at:2026-01-05 09:00:00+00:00}"}),
    ({"at": 1795639088, "ms": 1795639088068},
     {"at": "{project.created_at:s}", "ms": "{project.created_at:ms}"}),
    ({"deployment": {"at": 1795639088}}, {"deployment": {"at": "{deployment.created_at:s}"}}),
    ({"at": "2025-01-01T00:00:00Z"}, {"at": "2025-01-01T00:00:00Z"}),  # It is older.
]  # fmt: skip


@pytest.mark.parametrize(("body", "template"), VALUES)
def test_what_is_known_becomes_a_marker(body: Any, template: Any) -> None:
    found, varying = unify_bodies(body)
    assert repr(found) == repr(template)
    assert varying == []


def test_a_time_has_the_digits_of_the_longest_one() -> None:
    """Zeros at the end may be left out."""
    found, varying = unify_bodies(
        {"at": f"{TIME}.1Z"}, {"at": f"{TIME}.123456Z"}, {"at": f"{TIME}Z"}
    )
    assert found == {"at": "{project.created_at:2026-01-05T09:00:00.000000Z}"}
    assert varying == []


def test_a_count_is_what_counts_in_each_reading() -> None:
    """Somebody else's project between two reads changes nothing."""
    three, four = (Known((("count", count), ("last.id", f"p-{count}"))) for count in (3, 4))
    first = {"total": 3, "max_count": 3, "shown": 3, "end": "p-3"}
    second = {"total": 4, "max_count": 3, "shown": 4, "end": "p-4"}
    assert unify_bodies(first, known=three)[0] == {
        "total": "{count}", "max_count": 3, "shown": 3, "end": "{last.id}",
    }  # fmt: skip
    found = unify([Reading(first, three), Reading(second, four)])
    template = {"total": "{count}", "max_count": 3, "shown": "{count}", "end": "{last.id}"}
    assert (found.body, found.varying) == (template, frozenset())


def test_the_only_item_of_a_list_is_the_first_where_a_name_says_so_else_the_last() -> None:
    known = Known((("first.id", "p-1"), ("last.id", "p-1")))
    found, _ = unify_bodies({"first_id": "p-1", "cursor": "p-1"}, known=known)
    assert found == {"first_id": "{first.id}", "cursor": "{last.id}"}


# The bodies of a run, their statuses, the template, and the paths that vary.
RUNS: list[tuple[str, list[Any], Any, list[Any]]] = [
    ("q b s", [{"ok": False}, {"ok": False}, {"ok": True}], {"ok": {"s": True, "": False}}, []),
    ("q b s", [{}, {}, {"url": "d-77"}], {"url": {"s": "{deployment.id}"}}, []),
    ("q s", [{"a": None}, {"a": 1795639088}], {"a": {"s": "{project.created_at:s}", "": None}}, []),
    ("q s", [{"x": ["a"]}, {"x": ["a", "b"]}], {"x": {"s": ["a", "b"], "": ["a"]}}, []),
    ("q s", [{"x": {"a": 1}}, {"x": None}], {"x": {"s": None, "": {"a": 1}}}, []),
    # A progress stands still in the last status.
    ("q b b s s", [{"n": 0}, {"n": 3}, {"n": 7}, {"n": 9}, {"n": 9}],
     {"n": {"b": 3, "s": 9, "": 0}}, []),
    # What another reading of the last status has otherwise is decided by none.
    ("q s s", [{"n": "a"}, {"n": "b"}, {"n": "c"}], {"n": "a"}, [("n",)]),
    ("s s", [{"n": 1, "m": 2}, {"n": 1}], {"n": 1, "m": 2}, [("m",)]),
    ("s s", [{"n": 5}, {"n": 5.0}], {"n": 5}, [("n",)]),
    ("q s", [{"s": "q"}, {"s": "s"}], {"s": CHOICE}, []),
    ("q q", [{"status": "q", "kind": "q"}], {"status": CHOICE, "kind": "q"}, []),
]  # fmt: skip


@pytest.mark.parametrize(("words", "bodies", "template", "varying"), RUNS)
def test_what_the_status_decides_is_a_choice_and_the_rest_varies(
    words: str, bodies: list[Any], template: Any, varying: list[Any]
) -> None:
    found = unify_bodies(*bodies, words=" ".join(words.split()[: len(bodies)]))
    (place, value), *more = template.items()
    is_choice = isinstance(value, dict)
    expected = {place: {CHOICE: value} if is_choice else value, **dict(more)}
    assert (repr(found[0]), found[1]) == (repr(expected), varying)


BASES: list[tuple[str, str, str]] = [
    ("https://api.example", "https://api.example/v1/x", "{base}/v1/x"),
    ("https://api.example", "http://api.example:443?x", "{base}?x"),
    ("https://api.example", "see https://api.example.", "see {base}."),
    ("https://api.example", "//API.example/x", "{base}/x"),
    ("https://api.example", "https://api.example.com https://api.example-1 https://x.api.example",
     "https://api.example.com https://api.example-1 https://x.api.example"),
    ("http://[::1]:8080", "http://[::1]:8080/v1 http://[::1]:80801",
     "{base}/v1 http://[::1]:80801"),
    ("https://a.example/api", "https://a.example/api/v1 https://a.example/apis",
     "{base}/v1 {base}/apis"),
]  # fmt: skip


@pytest.mark.parametrize(("base", "text", "marked"), BASES)
def test_the_address_of_the_service_becomes_base(base: str, text: str, marked: str) -> None:
    assert Known((), make_base_pattern(base)).mark(text) == marked


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else "end"


def test_the_ends_of_a_long_array_are_read_and_nothing_too_deep() -> None:
    small: list[Any] = [{"a": 1, "b": [1, "x"]}, [], "x", None]
    for body in (small, nested(35)):
        assert shorten_value(body) == body
    assert shorten_value([*range(1500)]) == [*range(500), *range(1000, 1500)]
    assert str(shorten_value(nested(900))).count("[") == 36
