"""What is wrong in a profile: first by its schema, then what a schema cannot say."""

import copy
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any

from web.problems import FieldError
from web.validation import error_at, under

from ..documents import path_of
from ..rules import check
from .ids import DERIVED, characters
from .markers import (
    ALL,
    CHOICE,
    NAME,
    OF_ERRORS,
    OF_LISTS,
    OF_RECORDS,
    Path,
    is_choice,
    names_in,
    place_of_name,
    places_of_projects,
    texts_below,
)

OPAQUE = ("prefix", "alphabet", "shortest", "longest")

OWN_WORDS = ("queued", "building", "succeeded", "failed", "canceled")
"""The statuses of a profile that has none."""


def errors_in(profile: Any) -> list[FieldError]:
    """All errors of a profile."""
    errors = list(check(profile, "Profile"))
    if not isinstance(profile, dict):
        return errors
    places = [error.pointer for error in errors]
    valid = copy.deepcopy(profile)
    for place in places:
        remove(valid, path_of(place))
    known: Collection[str] | None = OWN_WORDS
    if has_error("/statuses", places):
        known = None
    elif "statuses" in profile:
        known = words_of(profile["statuses"])
    more = contradictions(valid, known)
    return errors + [error for error in more if not has_error(error.pointer, places)]


def has_error(pointer: str, places: list[str]) -> bool:
    """Whether one of the places of errors is this one, or inside of it."""
    return any(f"{place}/".startswith(f"{pointer}/") for place in places)


def remove(document: dict[str, Any], path: list[str]) -> None:
    """Remove what is at a path, if anything is; with an item goes its array."""
    name, *rest = path
    inner = document.get(name)
    if rest and isinstance(inner, dict):
        remove(inner, rest)
    else:
        document.pop(name, None)


def contradictions(profile: dict[str, Any], words: Collection[str] | None) -> Iterator[FieldError]:
    """What a schema cannot say of a profile, each part of which is valid or left out.

    `words` are its statuses; without them those of a choice are not checked.
    """
    parts: dict[str, Any] = defaultdict(dict, profile)
    bodies = Bodies(words)
    yield from check_statuses(parts["statuses"])
    yield from bodies.check_list(parts["list"])
    creation = parts["create"]
    yield from bodies.check_form(creation, ("create",), OF_RECORDS)
    if "request" in creation:
        yield from under(["create", "request"], check_request(creation["request"]))
    yield from bodies.check_form(parts["deployment"], ("deployment",), OF_RECORDS)
    for code, form in parts["errors"].items():
        yield from bodies.check_form(form, ("errors", code), OF_ERRORS)
    for kind, form in parts["ids"].items():
        yield from under(["ids", kind], check_ids(form))


def words_of(statuses: dict[str, Any]) -> tuple[str, ...]:
    """All statuses of a profile."""
    return (*statuses["run"], *statuses.get("others", ()))


def check_statuses(statuses: dict[str, Any]) -> Iterator[FieldError]:
    run = statuses.get("run")
    if not run:
        return
    if statuses.get("ended") not in (None, run[-1]):
        yield FieldError("/statuses/ended", "must be the last one of `run`, or null")
    for index, word in enumerate(statuses.get("others", ())):
        if word in run:
            yield error_at("is in `run` already", "statuses", "others", index)


def check_headers(
    form: dict[str, Any], allowed: Collection[str], *path: str | int
) -> Iterator[FieldError]:
    seen = set()
    for name, value in form.get("headers", {}).items():
        place = (*path, "headers", name)
        lower = name.lower()
        if lower in seen:
            yield error_at("stands twice, as case does not count", *place)
        seen.add(lower)
        yield from check_text(value, place, allowed)


def check_text(text: str, path: Path, allowed: Collection[str]) -> Iterator[FieldError]:
    for name in names_in(text):
        if name not in ALL:
            yield error_at(f"{{{name}}} is no marker: {listed(allowed)}", *path)
        elif name not in allowed:
            yield error_at(f"{{{name}}} cannot stand here: {listed(allowed)}", *path)


def listed(names: Collection[str]) -> str:
    return "there are " + " ".join(f"{{{name}}}" for name in sorted(names))


class Bodies:
    """Checks bodies; `words` are those of a choice, None if they are not known."""

    def __init__(self, words: Collection[str] | None) -> None:
        self.words = words
        self.projects: Path | None = None  # the array that has the form of the projects
        self.skipped: set[Path] = set()  # other arrays of projects

    def check_form(
        self, form: dict[str, Any], path: Path, allowed: Collection[str]
    ) -> Iterator[FieldError]:
        yield from check_headers(form, allowed, *path)
        if "body" in form:
            yield from self.check(form["body"], (*path, "body"), allowed)

    def check_list(self, form: dict[str, Any]) -> Iterator[FieldError]:
        yield from check_headers(form, OF_LISTS, "list")
        if "body" not in form:
            return
        path = ("list", "body")
        arrays = [(*path, *place) for place in places_of_projects(form["body"])]
        if not arrays:
            detail = "must have an array with one item, in which markers of a project stand"
            yield error_at(detail, *path)
            return
        self.projects, *others = arrays
        for other in others:
            yield error_at("is a second array of projects: there is one beside it", *other)
        self.skipped = set(others)
        yield from self.check(form["body"], path, OF_LISTS)

    def check(self, value: Any, path: Path, allowed: Collection[str]) -> Iterator[FieldError]:
        """The errors of a value in a body."""
        if path in self.skipped:
            return
        if path == self.projects:
            yield from self.check_projects(value, path)
        elif isinstance(value, str):
            yield from check_text(value, path, allowed)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.check(item, (*path, index), allowed)
        elif is_choice(value):
            yield from self.check_choice(value, path, allowed)
        elif isinstance(value, dict):
            for key, item in value.items():
                inner = (*path, key)
                if names_in(key) and inner not in self.skipped:
                    detail = "no marker can stand in a name; with doubled braces it is a text"
                    yield error_at(detail, *inner)
                yield from self.check(item, inner, allowed)

    def check_projects(self, items: list[Any], path: Path) -> Iterator[FieldError]:
        """The errors of the array that has the form of the projects."""
        if len(items) != 1:
            yield error_at("must have one item, the form of each project", *path)
        for index, item in enumerate(items):
            yield from self.check(item, (*path, index), OF_RECORDS | OF_LISTS)

    def check_choice(
        self, value: dict[str, Any], path: Path, allowed: Collection[str]
    ) -> Iterator[FieldError]:
        words = value[CHOICE]
        place = (*path, CHOICE)
        if "deployment.status" not in allowed:
            yield error_at("no choice by the status can stand here", *place)
        elif len(value) > 1:
            yield error_at("must be alone in its object, as it is a choice", *place)
        elif not isinstance(words, dict):
            yield error_at('must be an object: a value for each word, and for ""', *place)
        else:
            if "" not in words:
                yield error_at('needs a value for "", which is each other word', *place)
            for word, item in words.items():
                if word and self.words is not None and word not in self.words:
                    detail = f"is no status: there are {', '.join(self.words)}"
                    yield error_at(detail, *place, word)
                yield from self.check(item, (*place, word), allowed)


def check_request(request: dict[str, Any]) -> Iterator[FieldError]:
    """The errors of the example of a request, in which the name stands once."""
    places = list(place_of_name(request))
    if not places:
        detail = f"must have the text {NAME} once, inside of objects alone"
        yield FieldError("", detail)
    for place in places[1:]:
        yield error_at(f"{NAME} stands there already", *place)
    for place, text in texts_below(request):
        if names_in(text) and place not in places:
            detail = f"must have no marker: only {NAME} stands in a request, once and alone"
            yield error_at(detail, *place)


def check_ids(ids: dict[str, Any]) -> Iterator[FieldError]:
    derived = [name for name in DERIVED if name in ids]
    opaque = [name for name in OPAQUE if name in ids]
    if derived:
        for name in derived[1:] + opaque:
            yield error_at(f"cannot stand beside `{derived[0]}`", name)
    elif opaque == list(OPAQUE):
        if ids["shortest"] > ids["longest"]:
            yield FieldError("/longest", "must not be below `shortest`")
        plain = {char for char in characters(*ids["alphabet"]) if char.isalnum()}
        if len(plain) < 2:
            yield FieldError("/alphabet", "must have two letters or digits")
    elif ids:
        for name in OPAQUE:
            if name not in ids:
                yield error_at("is required", name)
