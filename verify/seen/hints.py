"""The hints of a person, and the places that they tell."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from profiles import markers
from profiles.profile import Profile
from traffic import json_values

from . import inspection
from .places import Place
from .service_log import NOTHING
from .status import format_word


@dataclass(frozen=True)
class Hints:
    """The hints of a person: the id of a deployment, the body of a creation, and a profile."""

    deployment: str = ""
    request: Any = None  # with the marker {project.name}
    profile: Profile | None = None

    def find_place(self, part: str, marker: str) -> Place | None:
        """Find the place of a marker in a part of the profile.

        A value that is only the marker is preferred to a text like `operations/{deployment.id}`.
        """
        places = self._list_places(part, marker)
        return min(places, key=lambda place: place.pattern is not None, default=None)

    def _list_places(self, part: str, marker: str) -> Iterator[Place]:
        for body in self._list_bodies(part).values():
            for path, value in json_values.walk(body):
                pattern = make_pattern(value, marker) if isinstance(value, str) else None
                if pattern:
                    is_whole = markers.parse_whole_marker(value) is not None
                    yield Place(path, None if is_whole else pattern)

    def find_place_in_item(self, items_path: json_values.Path | None, marker: str) -> Place | None:
        """Find the place of a marker in the project of the list."""
        place = self.find_place("list", marker)
        return place and place._replace(path=place.path[len(items_path or ()) + 1 :])

    @property
    def has_name_as_id(self) -> bool:
        """Whether the name of a project is its id: `{"ids": {"projects": "{project.name}"}}`."""
        ids = self.profile.document.get("ids", {}) if self.profile else {}
        return ids.get("projects") == markers.NAME

    def find_items(self) -> json_values.Path | None:
        """Find the path of the array of the projects in the list."""
        form = self.profile.form("list") if self.profile else None
        return next(markers.find_project_arrays(form.body), None) if form else None

    def find_status(self) -> tuple[json_values.Path | None, str]:
        """Find the path of the status in the deployment: of its marker, or of a choice.

        The values of a choice are the statuses, as texts, numbers or booleans. One status may lack
        the member, like `false` in `{"done": {"{deployment.status}": {"true": true}}}`. It is the
        second result, or "".
        """
        marked = self.find_place("deployment", "deployment.status")
        if marked and marked.pattern is None:
            return marked.path, ""
        bodies = self._list_bodies("deployment") if self.profile and self.profile.statuses else {}
        walks = map(json_values.walk, bodies.values())
        for path in dict.fromkeys(path for walk in walks for path, _ in walk):
            found = {word: inspection.find_value(body, path) for word, body in bodies.items()}
            others = [word for word, value in found.items() if format_word(value) != word]
            if not others:
                return path, "false" if [*bodies] == ["true"] else ""
            if len(others) == 1 < len(bodies) and found[others[0]] is NOTHING:
                return path, others[0]
        return None, ""

    def _list_bodies(self, part: str) -> dict[str, Any]:
        """Return the body of a part for each status: `{"false": {"done": False}}`."""
        form = self.profile.form(part) if self.profile else None
        if form is None or self.profile is None:
            return {}
        words = self.profile.statuses or ("",)
        return {word: markers.resolve_choices(form.body, word) for word in words}


def make_pattern(text: str, name: str) -> re.Pattern[str] | None:
    """Make the pattern of a text with a marker, which is the group: `operations/(.+)`.

    It is None for a text without this marker, and for a second id like `{project.id:41}`.
    """
    own = markers.Marker(name), markers.Marker(name, "text")
    pattern = ""
    is_found = False
    for piece in markers.split_markers(text):
        if isinstance(piece, str):
            pattern += re.escape(piece)
        elif piece in own:
            pattern += "(.+)"
            is_found = True
        else:
            pattern += ".+"
    return re.compile(pattern) if is_found else None
