"""What is masked in a log or in the journal: replaced by `***`.

A valid token is masked wherever it stands, as it is and percent-encoded; a short one only where it
is a whole word, since it may be a part of others. Also masked are a host that begins a token, the
credential of the Authorization header, header fields with a secret's name, and the value of the
query parameter `access_token` (RFC 6750 §2.3). Nothing else is searched for or changed.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable
from string import hexdigits
from urllib.parse import unquote_plus

MASK = "***"
SHORT = 8  # characters; a token of less is short
# A character that is percent-encoded, perhaps more than once, or escaped as the axis `json-text`
# of grease does it.
ESCAPE = re.compile(r"(?:%(?:25)*|\\u00)([0-9A-Fa-f]{2})")
CHARACTERS = {a + b: chr(int(a + b, 16)) for a in hexdigits for b in hexdigits}
AUTHORITY = re.compile(r"://([^/?#\s]+)")  # of a URL (RFC 3986 §3.2)
NOT_IN_HOST = re.compile("[/+=]")  # characters of tokens alone
NOTHING = re.compile("(?!)")  # matches no text
SECRET_NAME = re.compile(
    "authorization|(?:^|[-_])auth(?:[-_]|$)|bearer|token|api[-_]?key|cookie|secret|password|jwt",
    re.IGNORECASE,
)


class Redactor:
    """Masks the valid tokens of an app, and other secrets by their place."""

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self._pattern = Pattern(tokens)

    def text(self, text: str) -> str:
        """The text with each valid token masked."""
        found = self._pattern.find(fold(decode(text)))
        if not found:
            return text
        places = places_of(text)
        parts = []
        end = 0
        for first, last in found:
            parts += [text[end : places[first]], MASK]
            end = places[last]
        return "".join(parts) + text[end:]

    def url(self, text: str) -> str:
        """The text with each valid token masked, and each host of a URL that begins one."""
        return AUTHORITY.sub(lambda found: f"://{self.host(found[1])}", self.text(text))

    def host(self, host: str) -> str:
        """A host with a port or a user, as in a field Host; masked whole if it begins a token."""
        masked = self.text(host)
        user, _, name = name_of_host(masked).rpartition("@")
        for part in (*user.split(":"), name.strip("[].")):
            if part and self._pattern.begins_token(part):
                return MASK
        return masked

    def target(self, target: str) -> str:
        """The target of a request with tokens and the value of `access_token` masked."""
        path, mark, query = target.partition("?")
        masked = self.query(query)
        return self.url(path) + mark + masked

    def query(self, query: str) -> str:
        """A query string with tokens and the value of `access_token` masked."""
        parts = []
        for part in query.split("&"):
            name, _, value = part.partition("=")
            if value and unquote_plus(name) == "access_token":
                part = f"{name}={MASK}"
            parts.append(part)
        return self.url("&".join(parts))

    def request_line(self, method: str, path: str, query: str) -> dict[str, str]:
        return {
            "method": self.text(method),
            "path": self.url(path),
            "query": self.query(query),
        }

    @staticmethod
    def secret(name: str, value: str) -> str:
        """The value of a header field, masked if a field of this name holds a secret."""
        if name == "Authorization":
            is_bearer = value.lower().startswith("bearer ")
            return f"Bearer {MASK}" if is_bearer else MASK
        return MASK if SECRET_NAME.search(name) else value


class Pattern:
    """Finds tokens in a text that is decoded and folded, in a time that is hardly longer for many
    tokens than for one.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        spelled: set[str] = set()
        names = []  # as they are without the characters that no host has
        starts = []  # of these, what no other host begins with
        for token in map(fold, map(decode, tokens)):
            spelled |= spellings(token)
            name = NOT_IN_HOST.sub("", token)
            names.append(name)
            if len(name) >= SHORT:
                first, *_ = NOT_IN_HOST.split(token)
                starts.append(name[: max(SHORT, len(first))])
        self._pattern = pattern_of(spelled - {""})
        self._names = sorted(names)
        self._starts = tuple(starts)

    def find(self, text: str) -> list[tuple[int, int]]:
        """Where each token starts and ends; of two that start together, the longer one."""
        return [found.span() for found in self._pattern.finditer(text)]

    def begins_token(self, host: str) -> bool:
        """Whether a host is the beginning of a token, or begins with that of one, up to the first
        character that a host cannot have.
        """
        name = NOT_IN_HOST.sub("", fold(decode(host)))
        if name.startswith(self._starts):
            return True
        next_name = self._names[bisect_left(self._names, name) :][:1]
        return any(each.startswith(name) for each in next_name)


def spellings(token: str) -> set[str]:
    """A token as it is, in a JSON Pointer (RFC 6901 §4), in JSON of those who escape a `/`, and as
    the name of a decoded query, where a `+` is a space and a `=` is the end.
    """
    return {
        token,
        token.replace("~", "~0").replace("/", "~1"),
        token.replace("/", r"\/"),
        token.replace("+", " ").rstrip("="),
    }


def pattern_of(texts: Collection[str]) -> re.Pattern[str]:
    """Matches each of the texts; a short one only as a whole word."""
    long = [text for text in texts if len(text) >= SHORT]
    short = [text for text in texts if len(text) < SHORT]
    patterns = []
    if long:
        patterns.append(tree(long))
    if short:
        patterns.append(rf"(?<!\w)(?:{tree(short)})(?!\w)")
    return re.compile("|".join(patterns)) if patterns else NOTHING


def tree(texts: Iterable[str], levels: int = 2) -> str:
    """A pattern of texts, the longest first. A search tries at each place only those that have its
    first two characters.
    """
    if not levels:
        longest_first = sorted(texts, key=len, reverse=True)
        return "|".join(map(re.escape, longest_first))
    rests = defaultdict(list)
    for text in texts:
        rests[text[:1]].append(text[1:])
    branches = []
    for first in sorted(rests, reverse=True):  # an empty one, which matches anything, is the last
        rest = tree(rests[first], levels - 1)
        branches.append(f"{re.escape(first)}(?:{rest})")
    return "|".join(branches)


def decode(text: str) -> str:
    """The text with each escaped character as it is."""
    if "%" not in text and "\\" not in text:
        return text
    parts = ESCAPE.split(text)  # text and the digits of an escape, in turn
    parts[1::2] = [CHARACTERS[digits] for digits in parts[1::2]]
    return "".join(parts)


def places_of(text: str) -> list[int]:
    """The place of each character of the decoded text, and that of its end."""
    places: list[int] = []
    end = 0
    for escape in ESCAPE.finditer(text):
        places += range(end, escape.start() + 1)
        end = escape.end()
    return [*places, *range(end, len(text) + 1)]


def fold(text: str) -> str:
    """The text in lower case, as long as it was: `İ` alone has two characters there."""
    return text.replace("İ", "i").lower()


def name_of_host(host: str) -> str:
    """The name or the address in a field Host, without the port and brackets."""
    return re.sub(":[0-9]*$", "", host).strip("[]")


def printable(text: str) -> str:
    """The text with `?` for each control and the like, so that a line of it stays one."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "?" for char in text)


def cut(text: str, size: int) -> str:
    """As much of the text as UTF-8 holds in `size` bytes."""
    data = text.encode(errors="replace")
    return data[:size].decode(errors="ignore")
