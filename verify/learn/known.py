"""The values that were known when a body was read, and the markers for them."""

import re
from dataclasses import dataclass
from typing import Any

from profiles import markers

from ..seen import guesses, inspection


@dataclass(frozen=True)
class Known:
    """The known values, such as `(("project.id", "prj_1"), ("project.name", "shop"))`.

    Of equal values the likelier is the first. `base` matches the address of the service. Times in
    the window, in seconds since 1970, are times of the creation: they get the marker `time`.
    """

    named: tuple[tuple[str, Any], ...] = ()
    base: re.Pattern[str] | None = None
    window: tuple[float, float] = (0.0, 0.0)
    time: str = "project.created_at"
    status_names: frozenset[str] = frozenset({"status"})  # names of members with the status

    def match_markers(self, value: Any) -> list[str]:
        """Return the names of the markers for a whole value: `["project.id"]`."""
        return [name for name, known in self.named if inspection.is_same(known, value)]

    def is_text_form(self, name: str, value: Any) -> bool:
        """Return whether a value is a known id as a text, or as a number: `"41"` for 41."""
        texts = [str(known) for known_name, known in self.named if known_name == name]
        return inspection.is_id(value) and str(value) in texts

    def match_time(self, value: Any) -> str | None:
        """Return the form of a time of the creation, None for another value.

        It is the time itself, `s` for seconds since 1970, or `ms` for milliseconds.
        """
        seconds = inspection.parse_seconds(value)
        if seconds is not None:
            return value if self._is_recent(seconds) else None
        if not is_timestamp(value):
            return None
        if self._is_recent(value):
            return "s"
        return "ms" if self._is_recent(value / 1000) else None

    def _is_recent(self, seconds: float) -> bool:
        since, until = self.window
        return since <= seconds <= until

    def mark(self, text: str) -> str:
        """Return a text with markers for the known values in it: `/v1/{project.id}`."""
        text = strip_markers(text)
        if self.base:
            text = self.base.sub("{base}", text)
        for name, known in self.named:
            part = str(known)
            if part in text and inspection.is_id(known):
                text = make_value_pattern(part).sub(f"{{{name}}}", text)
        return text


def is_timestamp(value: Any, least: int = 1_000_000_000) -> bool:
    """Return whether a number may be a time since 1970: seconds after 2001, or milliseconds."""
    return inspection.is_number(value) and value >= least


def strip_markers(text: str) -> str:
    """Remove the braces of texts that look like markers: `{count}` becomes `count`."""
    while markers.find_markers(text):
        pieces = markers.split_markers(text)
        text = "".join(piece if isinstance(piece, str) else str(piece)[1:-1] for piece in pieces)
    return text


def make_value_pattern(part: str) -> re.Pattern[str]:
    """Make the pattern of a value as a word of a text.

    A short value, such as `41`, is matched only in a URL: `/projects/41`.
    """
    escaped = re.escape(part)
    if len(part) < (guesses.SHORTEST_NUMBER if part.isdigit() else guesses.SHORTEST_PART):
        return re.compile(f"(?<=[/=@]){escaped}(?=[/?&#]|$)")
    return re.compile(f"(?<![A-Za-z0-9{{]){escaped}(?![A-Za-z0-9}}])")


def make_base_pattern(base: str) -> re.Pattern[str] | None:
    """Make the pattern of the address of a service, such as `https://api.example/v2`, in a text.

    It matches every scheme, and `//api.example`. It is None for an address without a scheme.
    """
    match = re.fullmatch(r"(https?):(//[^/?#]+)(/.*)?", base.rstrip("/"), re.IGNORECASE)
    if match is None:
        return None
    scheme, host, path = match.groups(default="")
    host = re.sub(":443$" if scheme.lower() == "https" else ":80$", "", host)
    # `wss:` of `wss://api.example`, or nothing before `//api.example`
    start = r"(?:\b(?:https?|wss?):|(?<![:\w/]))"
    # `:443` of `https://api.example:443`
    port = "" if re.search(":[0-9]+$", host) else "(?::443|:80)?"
    # `/v2` of `https://api.example/v2/projects`, but not of `https://api.example/v20`
    prefix = f"(?:{re.escape(path)}(?=[/?#\\s]|$))?" if path else ""
    # The host ends here: it is not `api.example-2`, `api.example.org` or `api.example:8080`.
    end = r"(?![\w-]|[.:]\w)"
    return re.compile(f"{start}{re.escape(host)}{port}{prefix}{end}", re.IGNORECASE)
