"""What a run has observed of a service: its profile, and what a person has to know of that."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from profiles.check import schemas
from profiles.markers import markers_in
from profiles.profile import DEPTH
from stub.redaction import SECRET_NAME
from web.schemas import is_valid
from web.strict_json import MalformedJSON, parse_json
from web.validation import pointer

from .choices import Bodies, judged, merge
from .constants import Constants
from .exchange import Exchange
from .forms import Form, time_form
from .readings import Readings
from .run import Run
from .values import Path, scalars, without_markers

Part = dict[str, Any]
Mark = Callable[[str], str]
"""Puts markers in the value of a header field."""


@dataclass
class Observation:
    """A profile, and what a person has to know of it. Places are JSON pointers in the profile."""

    run: Run
    readings: Readings
    constants: Constants
    profile: Part
    kept: dict[str, Any] = field(default_factory=dict)  # constants, by their places
    varying: list[str] = field(default_factory=list)  # places of what each reading had anew
    unsaid: list[str] = field(default_factory=list)  # sentences of what a profile cannot say
    left_out: set[str] = field(default_factory=set)  # names of header fields that vary
    unreadable: list[str] = field(default_factory=list)  # parts whose body no profile can have
    word: str = ""  # the status of a deployment whose run was not seen
    statuses: dict[str, int] = field(default_factory=dict)  # of a list and a deployment
    exchanges: dict[str, list[Exchange]] = field(default_factory=dict)  # by the place of a form
    times: dict[str, Form] = field(default_factory=dict)  # of the created records, by their places
    ids: dict[str, Form] = field(default_factory=dict)  # by the kind of record

    @property
    def is_own(self) -> bool:
        """Whether the records are those of the created project."""
        return self.run.creation is not None

    def cannot_say(self, sentence: str) -> None:
        self.unsaid.append(sentence)

    def merge(self, bodies: Bodies, place: str) -> Any:
        """One body of several readings, each with its status; what varies is noted."""
        varying: set[Path] = set()
        merged = merge(judged(bodies), varying)
        self.varying += sorted(place + pointer(*path) for path in varying)
        return merged

    def clean(self, bodies: Bodies, place: str) -> Any:
        """One body of several readings, without what may not stay."""
        merged = self.merge(bodies, place)
        return self.constants.clean(merged, place)

    def form(self, part: str, exchanges: list[Exchange], body: Any, mark: Mark) -> Part:
        """The form of a response: its body, its content type and its header fields."""
        place = f"/{part}"
        self.exchanges[place] = exchanges
        form = {"body": body}
        first = exchanges[0]
        content_type = first.header("Content-Type") or ""
        if is_valid(content_type, schemas()["content_type"]):
            form["content_type"] = content_type
        headers = {}
        names = {name.lower(): name for name in first.headers}
        for name in names.values():
            values = [exchange.header(name) or "" for exchange in exchanges]
            value = self._field(name, values, mark)
            if value is not None:
                inner = place + pointer("headers", name)
                headers[name] = self.constants.clean(value, inner)
        if headers:
            form["headers"] = headers
        return form

    def _field(self, name: str, values: list[str], mark: Mark) -> str | None:
        """The value of a header field, None for one that a profile cannot have.

        `values` are those of all responses. It stays if it is the same with markers in all of them.
        """
        constants = self.constants
        lower = name.lower()
        if lower == "allow":
            return None  # it is another one at each path, as the stub has it
        if SECRET_NAME.search(name) or constants.has_token(name):
            return None
        first = values[0]
        if not is_valid({name: first}, schemas()["headers"]):
            return None
        distinct = set(values)
        marked = set(map(mark, distinct))
        value = marked.pop() if len(marked) == 1 else without_markers(first)
        is_varying = len(distinct) > 1 or lower in self.readings.varying_fields
        if is_varying and not markers_in(value):
            self.left_out.add(name)
            return None
        if constants.may_not_stay(value):
            return None
        return value

    def note_times(self, body: Any, place: str) -> None:
        """Note the forms of the times in a body of the created record."""
        for path, value in scalars(body):
            form = time_form(value)
            if form:
                self.times[place + pointer(*path)] = form

    def note_status(self, part: str, exchange: Exchange) -> None:
        """Note the status of a list or a deployment, for which a profile has 200."""
        self.statuses[part] = exchange.status
        if exchange.status != 200:
            self.cannot_say(f"the status of the {part}: {exchange.status}, not 200")

    def is_strict(self, exchange: Exchange, place: str) -> bool:
        """Whether the body of a response is JSON that a profile can have; if not, it is noted."""
        try:
            parse_json(exchange.content, DEPTH)
        except MalformedJSON as error:
            reason = "is no JSON"
            if exchange.has_json:
                reason = f"is no strict JSON: {error}"
            self.cannot_say(f"/{place}/body: the body of the service {reason}")
            self.unreadable.append(place)
            return False
        return True
