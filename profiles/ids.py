"""The ids of a service, which are like an example, or made from the name or the id of a project."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits

UUID = re.compile(
    r"(?<![0-9a-z])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-z])", re.I
)
ULID = re.compile("[0-7][0-9A-HJKMNP-TV-Z]{25}")  # 128 bits in the base32 of Crockford
LETTERS_OF_ULID = "ABCDEFGHJKMNPQRSTVWXYZ"
HEXADECIMAL = "0123456789abcdef"
VERSION = 14  # the place of the version in a UUID (RFC 9562 §4)
VARIANT = 19
FIRST_INTEGER = 10_000_000
LAST_INTEGER = 999_999_999
TRIES = 20  # ids of one form that are taken, before one has more characters, or a random number

# In an id each of these is a marker, or an error; other braces are signs.
_MARKER = re.compile(r"\{([^{}]*\.[^{}]*|base|record|count)\}")
MARKERS = {"projects": ("project.name",), "deployments": ("project.id", "project.name")}
"""The markers from which the ids of a kind of record may be made."""


@dataclass(frozen=True)
class Numbers:
    """Ids that are integers."""

    def make(self, source: Random, base: str = "", attempt: int = 0) -> str:
        return draw_number(source)


@dataclass(frozen=True)
class Derived:
    """Ids that are made from a marker, with text around it."""

    before: str
    marker: str
    after: str

    def make(self, source: Random, base: str = "", attempt: int = 0) -> str:
        """An id that is made from `base`, the value of the marker; `attempt` counts those taken."""
        if self.is_same and attempt and base.isdigit():
            return draw_number(source)
        text = make_slug(base) if self.marker == "project.name" else base
        if attempt > TRIES:
            attempt = int(draw_number(source))
        if attempt:
            text = f"{text}-{attempt + 1}"
        return self.before + text + self.after

    @property
    def is_same(self) -> bool:
        """Whether it is the id of the project."""
        return (self.before, self.marker, self.after) == ("", "project.id", "")


@dataclass(frozen=True)
class Opaque:
    """Ids that are like an example: a prefix, and a rest that varies."""

    prefix: str
    rest: str

    def make(self, source: Random, base: str = "", attempt: int = 0) -> str:
        """An id, longer than the example where so many were taken."""
        more = re.findall("[0-9A-Za-z]", self.rest)[-1] * (attempt // TRIES)
        rest = self.rest + more
        made = self.prefix
        end = 0
        for match in UUID.finditer(rest):
            made += self._draw(rest[end : match.start()], source)
            made += draw_uuid(match[0], source)
            end = match.end()
        return made + self._draw(rest[end:], source)

    @property
    def pattern(self) -> str | None:
        """A pattern of such ids, None if the example says nothing of the others.

        It says a prefix of one word, such as `prj_`, and a UUID.
        """
        prefix = re.escape(self.prefix)
        if UUID.fullmatch(self.rest):
            return f"{prefix}(?i:{UUID.pattern})"
        is_word = re.fullmatch("[A-Za-z]+[_.:~-]", self.prefix)
        return f"{prefix}.+" if is_word else None

    def make_second(self, own_id: str) -> str:
        """Another id of the record with this id, always the same."""
        return self.make(Random(f"{self.prefix} {self._shape} {own_id}"))

    def _draw(self, text: str, source: Random) -> str:
        made = ""
        for char in text:
            alphabet = self._alphabet(char)
            if char in digits[1:] and not made and not self.is_hexadecimal:
                alphabet = digits[1:]  # a number does not begin with zero
            if self.is_ulid and not made:
                alphabet = digits[:8]
            made += source.choice(alphabet)
        return made

    def _alphabet(self, char: str) -> str:
        """The characters that may stand for one of the example."""
        if self.is_hexadecimal and char.isalnum():
            is_upper = char.isupper() or self._varied == self._varied.upper()
            return HEXADECIMAL.upper() if is_upper else HEXADECIMAL
        if self.is_ulid and char in ascii_uppercase:
            return LETTERS_OF_ULID
        if char in digits:
            return digits
        if char in ascii_lowercase:
            return ascii_lowercase
        return ascii_uppercase if char in ascii_uppercase else char

    @cached_property
    def is_ulid(self) -> bool:
        return ULID.fullmatch(self.rest) is not None

    @cached_property
    def is_hexadecimal(self) -> bool:
        has_digits = re.search("[0-9]", self._varied)
        letters = re.findall("[A-Za-z]", self._varied)
        return bool(has_digits and letters) and {*letters} <= {*"abcdefABCDEF"}

    @cached_property
    def _varied(self) -> str:
        """The rest of the example without UUIDs."""
        return UUID.sub("", self.rest)

    @cached_property
    def _shape(self) -> str:
        """The rest, in which all examples of one form are the same."""
        if self.is_hexadecimal:
            return re.sub("[0-9A-Fa-f]", "f", self.rest)
        shape = re.sub("[0-9]", "0", self.rest)
        return re.sub("[A-Z]", "A", re.sub("[a-z]", "a", shape))


IdForm = Numbers | Derived | Opaque


def parse_id_form(example: str | float, kind: str) -> IdForm:
    """The form of the ids of a kind of record. Raises `ValueError` with what is wrong."""
    if not isinstance(example, str):
        return Numbers()
    pieces = _MARKER.split(example)
    before, *markers = pieces
    if not markers:
        return parse_opaque_form(example)
    for marker in markers[::2]:
        if marker not in MARKERS[kind]:
            known = " or ".join(f"{{{each}}}" for each in MARKERS[kind])
            raise ValueError(f"{{{marker}}} cannot stand here, but {known}")
    if len(markers) > 2:
        raise ValueError("must have one marker at the most")
    marker, after = markers
    return Derived(before, marker, after)


def parse_opaque_form(example: str) -> Opaque:
    """What stands before the first digit, and before a UUID, stays, up to its last sign."""
    found = (re.search("[0-9]", example), UUID.search(example))
    ends = [match.start() for match in found if match]
    start = example[: min(ends, default=len(example))]
    prefix = re.sub("[0-9A-Za-z]*$", "", start)
    rest = example.removeprefix(prefix)
    if not re.search("[0-9A-Za-z]", rest):
        raise ValueError("is no example of an id: nothing follows its last sign")
    return Opaque(prefix, rest)


def choose_base(form: IdForm, name: str, project_id: str) -> str:
    """What an id of this form is made from, if anything: the name or the id of the project."""
    is_of_name = isinstance(form, Derived) and form.marker == "project.name"
    return name if is_of_name else project_id


def draw_number(source: Random) -> str:
    return str(source.randint(FIRST_INTEGER, LAST_INTEGER))


def draw_uuid(example: str, source: Random) -> str:
    """A UUID of the version of an example, in its case; of an unknown version, a random one."""
    made = list(f"{source.getrandbits(128):032x}")
    for place in (8, 13, 18, 23):
        made.insert(place, "-")
    version = example[VERSION]
    made[VERSION] = version if version in "12345678" else "4"
    made[VARIANT] = source.choice("89ab")
    uuid = "".join(made)
    return uuid.upper() if example.upper() == example else uuid


def make_slug(text: str) -> str:
    """The letters and digits of a text in lower case, with `-` between its words."""
    decomposed = unicodedata.normalize("NFKD", text)
    ascii_only = decomposed.encode("ascii", "ignore").decode()
    words = re.findall("[a-z0-9]+", ascii_only.lower())
    return "-".join(words) or "unnamed"
