"""What a person has said of a service before it is looked at."""

from dataclasses import dataclass
from typing import Any

from profiles.markers import CHOICE, Path, is_choice, values_below, whole_marker
from profiles.profile import Profile

from .status import word_of


@dataclass(frozen=True)
class Hints:
    """What a person has said: a deployment, the body of a creation, and a known profile."""

    deployment: str = ""
    request: Any = None  # with the marker {project.name}
    profile: Profile | None = None


def known_path(hints: Hints, part: str, marker: str) -> Path | None:
    """Where a known profile has a marker in the body of a part; for the status also a choice."""
    form = hints.profile.form(part) if hints.profile else None
    if form is None:
        return None
    for path, value in values_below(form.body):
        found = whole_marker(value)
        if found and found.name == marker and found.form in ("", "text") and CHOICE not in path:
            return path
    if marker != "deployment.status":
        return None
    for path, value in values_below(form.body):
        if is_choice(value) and CHOICE not in path and is_status_choice(value[CHOICE]):
            return path
    return None


def is_status_choice(words: dict[str, Any]) -> bool:
    """Whether a choice has each status itself, as a number or a boolean."""
    own = {word: value for word, value in words.items() if word}
    return bool(own) and all(word_of(value) == word for word, value in own.items())
