"""The hints of a person, and the places that they tell."""

from dataclasses import dataclass
from typing import Any

from profiles import markers
from profiles.profile import Profile
from traffic import json_values

from .status import format_word


@dataclass(frozen=True)
class Hints:
    """The hints of a person: the id of a deployment, the body of a creation, and a profile."""

    deployment: str = ""
    request: Any = None  # with the marker {project.name}
    profile: Profile | None = None

    def find_path(self, part: str, marker: str) -> json_values.Path | None:
        """Find the path of a marker in a part of the profile: `("data", "id")`."""
        form = self.profile.form(part) if self.profile else None
        for path, value in json_values.walk(form.body) if form else ():
            found = markers.parse_whole_marker(value)
            if found is None or found.name != marker or markers.CHOICE in path:
                continue
            if found.spec in ("", "text"):
                return path
        return None

    def find_path_in_item(
        self, items_path: json_values.Path | None, marker: str
    ) -> json_values.Path | None:
        """Find the path of a marker in the project of the list."""
        path = self.find_path("list", marker)
        return None if path is None else path[len(items_path or ()) + 1 :]

    def find_items(self) -> json_values.Path | None:
        """Find the path of the array of the projects in the list."""
        form = self.profile.form("list") if self.profile else None
        return next(markers.find_project_arrays(form.body), None) if form else None

    def find_status(self) -> json_values.Path | None:
        """Find the path of the status in the deployment: of its marker, or of a choice.

        The choice has the statuses as numbers or booleans: `{"true": true, "false": false}`.
        """
        path = self.find_path("deployment", "deployment.status")
        form = self.profile.form("deployment") if self.profile else None
        if path is not None or form is None:
            return path
        for path, value in json_values.walk(form.body):
            if markers.is_choice(value) and markers.CHOICE not in path:
                words = {word: own for word, own in value[markers.CHOICE].items() if word}
                if words and all(format_word(own) == word for word, own in words.items()):
                    return path
        return None
