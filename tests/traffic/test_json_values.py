"""A JSON value is walked in the order of the document."""

from traffic.json_values import get_value, map_leaves, replace_value, walk

VALUE = {"b": [{"id": 1}, [None]], "a": "x"}


def test_a_walk_has_each_value_with_its_path() -> None:
    assert [path for path, _ in walk(VALUE)] == [
        (),
        ("b",),
        ("b", 0),
        ("b", 0, "id"),
        ("b", 1),
        ("b", 1, 0),
        ("a",),
    ]
    for path, each in walk(VALUE):
        assert get_value(VALUE, path) is each


def test_what_is_not_there_is_missing() -> None:
    for path in (("c",), ("b", 2), ("b", "0"), ("a", 0), ("b", 0, "id", 0)):
        assert get_value(VALUE, path) is None
        assert get_value(VALUE, path, "nothing") == "nothing"


def test_a_value_is_replaced_in_a_copy() -> None:
    assert replace_value(VALUE, ("b", 1), 2) == {"b": [{"id": 1}, 2], "a": "x"}
    assert replace_value(VALUE, (), 3) == 3
    assert VALUE["b"] == [{"id": 1}, [None]]


def test_leaves_are_mapped_in_a_copy() -> None:
    shown = map_leaves(VALUE, lambda path, each: [len(path), each])
    assert shown == {"b": [{"id": [3, 1]}, [[3, None]]], "a": [1, "x"]}
