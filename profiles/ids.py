"""Makes ids like those of a service.

An id is like an example (`prj_4f9a2c`), or made from a marker (`dpl-{project.name}`).
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits

UUID = re.compile(
    r"(?<![0-9a-z])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-z])", re.I
)
ULID = re.compile("[0-7][0-9A-HJKMNP-TV-Z]{25}")  # 128 bits in Crockford's base32
# A shorter example would not show that no id has further characters.
DIGITS = re.compile("[0-9]{6,}")
HEXADECIMAL = re.compile("[0-9A-Fa-f]{8,}")
LOWER_CASE = re.compile("[a-z0-9]{10,}")
PREFIX = re.compile("(?:[A-Za-z]+/)+(?:[A-Za-z]+[_.:~-])?|[A-Za-z]+[_.:~-]")
TRIES = 20  # used ids, before an id gets more characters or a random number


@dataclass(frozen=True)
class Numbers:
    """Ids that are integers, such as 48151623."""

    def make(self, source: Random, base: str = "", attempt: int = 0) -> str:
        """Make a random id."""
        return draw_number(source)


@dataclass(frozen=True)
class Derived:
    """Ids that are made from a marker with text around it: `dpl-{project.name}`."""

    before: str
    marker: str
    after: str

    def make(self, source: Random, base: str = "", attempt: int = 0) -> str:
        """Make an id from `base`, the value of the marker: `dpl-shop`, or `dpl-shop-2`.

        A deployment of no project has a number in its place: `dpl-48151623`. `attempt` is the
        number of ids that are used already.
        """
        if self.is_same and attempt and base.isdigit():
            return draw_number(source)
        if self.marker == "project.name":
            text = make_slug(base)
        elif base:
            text = base
        else:
            text = draw_number(source)
        if attempt > TRIES:
            attempt = int(draw_number(source))
        if attempt:
            text = f"{text}-{attempt + 1}"
        return self.before + text + self.after

    @property
    def is_same(self) -> bool:
        """Whether the id is the same as that of the project."""
        return (self.before, self.marker, self.after) == ("", "project.id", "")


@dataclass(frozen=True)
class Opaque:
    """Ids that are like an example: the prefix `prj_`, and a rest that varies, `4f9a2c`."""

    prefix: str
    rest: str

    def make(self, source: Random, base: str = "", attempt: int = 0) -> str:
        """Make a random id. After many used ids it is longer than the example."""
        last = re.findall("[0-9A-Za-z]", self.rest)[-1]
        rest = self.rest + last * (attempt // TRIES)
        made = self.prefix
        for piece in re.split(f"({UUID.pattern})", rest, flags=re.IGNORECASE):
            if UUID.fullmatch(piece):
                made += draw_uuid(piece, source)
            else:
                made += self._draw(piece, source)
        return made

    @property
    def pattern(self) -> str | None:
        """The pattern of the ids, or None if other ids of the service may look different.

        An example shows the pattern if it is a UUID, a ULID or a long hexadecimal number, has only
        digits, or only small letters and digits, or begins with a prefix like `prj_` or `jobs/`.
        The length of a long random example is part of the pattern.
        """
        prefix = re.escape(self.prefix)
        if UUID.fullmatch(self.rest):
            return f"{prefix}(?i:{UUID.pattern})"
        if ULID.fullmatch(self.rest):
            return f"{prefix}{ULID.pattern}"
        if self.is_hexadecimal and HEXADECIMAL.fullmatch(self.rest):
            return f"{prefix}[0-9A-Fa-f]{self._count('{8,}')}"
        if DIGITS.fullmatch(self.rest) and not prefix:
            return DIGITS.pattern
        if LOWER_CASE.fullmatch(self.rest) and not prefix:
            return f"[a-z0-9]{self._count('{10,}')}"
        if PREFIX.fullmatch(self.prefix):
            return f"{prefix}{self._find_class()}{self._count('+')}"
        return None

    def _find_class(self) -> str:
        """Return the class of the characters of a random rest: `[0-9a-z]`, or any character."""
        if not self._is_random:
            return "."
        ranges = [each for each in ("0-9", "a-z", "A-Z") if re.search(f"[{each}]", self.rest)]
        signs = "_-" if "a-z" in ranges and "A-Z" in ranges else ""  # base64url
        return f"[{''.join(ranges)}{signs}]"

    @property
    def _is_random(self) -> bool:
        """Whether the rest is random: it has digits between letters, or 20 letters.

        `website1` is not random.
        """
        is_mixed = re.search("[A-Za-z][0-9]+[A-Za-z]|[0-9][A-Za-z]+[0-9]", self.rest)
        is_long = len(self.rest) >= (8 if self.is_hexadecimal else 10)
        is_word = not is_mixed and not (self.rest.isalpha() and len(self.rest) >= 20)
        return self.rest.isalnum() and is_long and not is_word

    def _count(self, usual: str) -> str:
        """Return the count of the characters of a random rest: `{22,26}` for 24; or the `usual`.

        Such ids have one length, or differ by a few characters: a number in base58, for example.
        """
        size = len(self.rest)
        return f"{{{size - 2},{size + 2}}}" if self._is_random else usual

    def make_second(self, own_id: str) -> str:
        """Make a second id of a record. The same id always has the same second id."""
        return self.make(Random(f"{self.prefix} {self._shape} {own_id}"))

    def _draw(self, text: str, source: Random) -> str:
        """Draw a text that looks like a part of the example."""
        made = ""
        for index, char in enumerate(text):
            made += source.choice(self._find_alphabet(char, is_first=index == 0))
        return made

    def _find_alphabet(self, char: str, *, is_first: bool) -> str:
        """Return the characters that may replace a character of the example."""
        if self.is_ulid and is_first:
            return digits[:8]
        if self.is_hexadecimal and char.isalnum():
            is_upper = char.isupper() or self._is_upper
            return "0123456789ABCDEF" if is_upper else "0123456789abcdef"
        if self.is_ulid and char in ascii_uppercase:
            return "ABCDEFGHJKMNPQRSTVWXYZ"
        if is_first and char in digits[1:]:
            return digits[1:]  # A number does not begin with zero.
        for alphabet in (digits, ascii_lowercase, ascii_uppercase):
            if char in alphabet:
                return alphabet
        return char

    @cached_property
    def is_ulid(self) -> bool:
        return ULID.fullmatch(self.rest) is not None

    @cached_property
    def is_hexadecimal(self) -> bool:
        has_digits = re.search("[0-9]", self._varied)
        letters = re.findall("[A-Za-z]", self._varied)
        return bool(has_digits and letters) and {*letters} <= {*"abcdefABCDEF"}

    @cached_property
    def _is_upper(self) -> bool:
        return self._varied == self._varied.upper()

    @cached_property
    def _varied(self) -> str:
        """The rest of the example without UUIDs."""
        return UUID.sub("", self.rest)

    @cached_property
    def _shape(self) -> str:
        """The rest with the same digit and letter everywhere: `4f9z` and `7b2q` are `0a0a`."""
        if self.is_hexadecimal:
            return re.sub("[0-9A-Fa-f]", "f", self.rest)
        shape = re.sub("[0-9]", "0", self.rest)
        return re.sub("[A-Z]", "A", re.sub("[a-z]", "a", shape))


IdFormat = Numbers | Derived | Opaque


def parse_id_format(example: str | float, kind: str) -> IdFormat:
    """Parse the example of an id, such as `prj_4f9a2c`, `dpl-{project.name}` or 48151623.

    `kind` is `projects` or `deployments`. Raises `ValueError` with the reason.
    """
    if not isinstance(example, str):
        return Numbers()
    # Braces around a name with a dot, or these words, are a marker. Other braces are characters.
    pieces = re.split(r"\{([^{}]*\.[^{}]*|base|record|count)\}", example)
    before, *markers = pieces
    if not markers:
        return parse_id_example(example)
    allowed = ["project.name"] if kind == "projects" else ["project.id", "project.name"]
    for marker in markers[::2]:
        if marker not in allowed:
            known = " or ".join(f"{{{each}}}" for each in allowed)
            raise ValueError(f"{{{marker}}} cannot stand here, but {known}")
    if len(markers) > 2:
        raise ValueError("must have one marker at the most")
    marker, after = markers
    return Derived(before, marker, after)


def parse_id_example(example: str) -> Opaque:
    """Split an example into a prefix that stays, and a rest that varies: `prj_` and `4f9a2c`.

    The prefix ends at the last sign before the first digit, or before a UUID; that of a path,
    such as `/groups/7/sites/4f9a2c`, ends at the last slash.
    """
    found = (re.search("[0-9]", example), UUID.search(example))
    ends = [match.start() for match in found if match]
    start = example[: min(ends, default=len(example))]
    prefix = re.sub("[0-9A-Za-z]*$", "", start)
    if example.count("/") > 1:
        prefix = max(prefix, example[: example.rfind("/") + 1], key=len)
    rest = example.removeprefix(prefix)
    if not re.search("[0-9A-Za-z]", rest):
        raise ValueError("is not an example of an id: nothing follows its last sign")
    return Opaque(prefix, rest)


def choose_base(id_format: IdFormat, name: str, project_id: str) -> str:
    """Return the value that an id of this format is made from: the project's name, or its id."""
    if isinstance(id_format, Derived) and id_format.marker == "project.name":
        return name
    return project_id


def draw_number(source: Random) -> str:
    return str(source.randint(10_000_000, 999_999_999))


def draw_uuid(example: str, source: Random) -> str:
    """Make a UUID with the version and the case of an example; by default it has version 4.

    In `xxxxxxxx-xxxx-4xxx-axxx-xxxxxxxxxxxx`, 4 is the version, and a the variant (RFC 9562 §4).
    """
    made = list(f"{source.getrandbits(128):032x}")
    for place in (8, 13, 18, 23):
        made.insert(place, "-")
    version = example[14]
    made[14] = version if version in "12345678" else "4"
    made[19] = source.choice("89ab")
    uuid = "".join(made)
    return uuid.upper() if example.upper() == example else uuid


def make_slug(text: str) -> str:
    """Make a slug of a name: of `Été & Shop` it is `ete-shop`."""
    decomposed = unicodedata.normalize("NFKD", text)
    ascii_only = decomposed.encode("ascii", "ignore").decode()
    words = re.findall("[a-z0-9]+", ascii_only.lower())
    return "-".join(words) or "unnamed"
