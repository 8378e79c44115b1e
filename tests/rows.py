"""Writes a response as a row of the recorded table, so that each text stands there once.

A row has all bytes of its response, but names the sentences of `replayed/messages.jsonl`, and the
members of `replayed/records.jsonl` that all records have:

    {"status": "404 NOT FOUND", "code": "deployment_not_found"}
    {"status": "422 UNPROCESSABLE ENTITY", "code": "invalid_body", "errors": {"/name": "<blank>"}}
    {"status": "200 OK", "body": {"<deployment>": {"id": "dpl_1", "status": "queued"}}}

An error whose Content-Type, members, order and white space are the usual ones is written so. A body
is a JSON value if `json.dumps` gives the same bytes for it, and its type is `application/json`.
Else it is a text. `Content-Length` is left out if it is the length of the body.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from werkzeug.http import HTTP_STATUS_CODES

FOLDER = Path(__file__).parent / "replayed"
HOLE = "{}"
"""A part of a sentence that differs, such as a number: `Send a body of at most {} bytes.`"""
LONGEST = 1000
"""The length of a text in which sentences are looked for."""
SAME = "<of the body>"


class Response(NamedTuple):
    """A response as a client has received it; `waited` are the seconds of its delays."""

    status: str
    headers: dict[str, Any]
    body: bytes
    waited: tuple[float, ...] = ()


def read_lines(name: str) -> list[dict[str, Any]]:
    """Read a file of JSON lines from the folder of the table."""
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def write_lines(name: str, lines: Iterable[dict[str, Any]]) -> None:
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (FOLDER / f"{name}.jsonl").write_text(text, "utf-8")


def split_sentences(text: str) -> list[str]:
    """Split a text behind each full stop that a new sentence follows."""
    return re.split(r"(?<=\.) (?=[A-Z])", text)


def make_pattern(sentence: str) -> re.Pattern[str]:
    """Make the pattern of a sentence that has holes."""
    return re.compile("(.*?)".join(re.escape(part) for part in sentence.split(HOLE)), re.S)


class Texts:
    """The sentences by their names, and the forms of records: what rows only name."""

    def __init__(self, messages: Iterable[dict[str, str]], forms: Iterable[dict[str, Any]]) -> None:
        self.messages = list(messages)
        self.forms = list(forms)
        self._whole: dict[tuple[str | None, str], str] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}
        for each in self.messages:
            if HOLE in each["sentence"]:
                self._patterns[each["name"]] = make_pattern(each["sentence"])
            else:
                self._whole[each.get("pointer"), each["sentence"]] = each["name"]
        self._packed: dict[str, str] = {}

    @classmethod
    def read(cls) -> "Texts":
        return cls(read_lines("messages"), read_lines("records"))

    def make_row(self, response: Response, usual: dict[str, Any]) -> dict[str, Any]:
        """Make the row of a response; `usual` are the header fields of its scenario."""
        shown = self.pack_problem(response)
        implied = "application/problem+json"
        if shown is None:
            shown = self.pack_body(response.body)
            implied = "application/json"
        if not shown or "bytes" in shown or isinstance(shown.get("body"), str):
            implied = ""
        headers = {"Content-Type": None, **dict.fromkeys(usual), **response.headers}
        expected = {"Content-Type": implied or None, **usual}
        unusual = {
            name: self.pack_value(value)
            for name, value in sorted(headers.items())
            if value != expected.get(name)
        }
        row: dict[str, Any] = {"status": response.status, **shown}
        if unusual:
            row["headers"] = unusual
        if response.waited:
            row["waited"] = list(response.waited)
        return row

    def pack_problem(self, response: Response) -> dict[str, Any] | None:
        """Return the code, detail and errors of an error that has the usual form, or None."""
        try:
            number = int(response.status.split()[0])
            found = json.loads(response.body)
            title = HTTP_STATUS_CODES.get(number, "Unknown Error")
            form = {"type": "about:blank", "title": title, "status": number}
            form |= {"detail": found["detail"], "code": found["code"]}
            if "errors" in found:
                form["errors"] = [
                    {"pointer": each["pointer"], "detail": each["detail"]}
                    for each in found["errors"]
                ]
            code, detail = str(found["code"]), self.pack_text(found["detail"])
        except (ValueError, TypeError, KeyError):
            return None
        if f"{json.dumps(form)}\n".encode() != response.body:
            return None
        packed: dict[str, Any] = {"code": code}
        if detail != f"<{code}>":
            packed["detail"] = detail
        if "errors" in form:
            errors = [(each["pointer"], self.name_detail(each)) for each in found["errors"]]
            by_pointer = dict(errors)
            packed["errors"] = by_pointer if len(by_pointer) == len(errors) else errors
        return packed

    def name_detail(self, error: dict[str, str]) -> str:
        """Return the names of the sentences of an error at a pointer, or else its detail."""
        return self.name_sentences(error["detail"], error["pointer"]) or error["detail"]

    def pack_body(self, body: bytes) -> dict[str, Any]:
        """Return the body as a member of its row: a value, a text, or bytes that are no text."""
        if not body:
            return {}
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return {"bytes": body.decode("latin-1")}
        try:
            value = json.loads(text)
        except ValueError:
            return {"body": text}
        if isinstance(value, str):
            is_plain = f"{json.dumps(value)}\n" == text
            return {"string": self.pack_text(value)} if is_plain else {"body": text}
        for member, is_ascii in (("body", True), ("utf-8", False)):
            if f"{json.dumps(value, ensure_ascii=is_ascii)}\n" == text:
                return {member: self.pack_value(leave_out_idle(value))}
        return {"body": text}

    def pack_value(self, value: Any) -> Any:
        """Return a JSON value with the names of its texts and records."""
        if isinstance(value, str):
            return self.pack_text(value)
        if isinstance(value, list):
            return [self.pack_value(each) for each in value]
        if not isinstance(value, dict):
            return value
        value = leave_out_repeated(value)
        packed = {name: self.pack_value(each) for name, each in value.items()}
        if packed.keys() >= {"pointer", "detail"}:
            packed["detail"] = self.name_detail(value)
        for form in self.forms:
            members = form["members"]
            if list(members) == list(packed):
                own = {name: each for name, each in packed.items() if each != members[name]}
                return {f"<{form['name']}>": own}
        return packed

    def pack_text(self, text: str) -> str:
        """Return a text with the names of its sentences: `/name <is-required>`."""
        if text not in self._packed:
            self._packed[text] = self._pack_text(text)
        return self._packed[text]

    def _pack_text(self, text: str) -> str:
        if text[:1] == "{":
            try:
                value = json.loads(text)
            except ValueError:
                return text
            if isinstance(value, dict) and f"{json.dumps(value)}\n" == text:
                return f"<json> {json.dumps(self.pack_value(value))}"
            return text
        prefix, rest = "", text
        while rest and len(text) < LONGEST and not prefix.endswith("; "):
            pointer = prefix.rstrip().rpartition(" ")[2] or None
            if named := self.name_sentences(rest, pointer):
                return prefix + named
            before, space, rest = rest.partition(" ")
            prefix += before + space
        parts = text.split("; ")
        return "; ".join([self.pack_text(part) for part in parts]) if parts[1:] else text

    def name_sentences(self, text: str, pointer: str | None = None) -> str:
        """Return the names of all sentences of a text, or "" if one of them is unknown."""
        for sentences in ([text], split_sentences(text)):
            named = [self._name_sentence(each, pointer) for each in sentences]
            if all(named):
                return " ".join(named)
        return ""

    def _name_sentence(self, sentence: str, pointer: str | None) -> str:
        name = self.find_name(sentence, pointer)
        if not name:
            return ""
        parts: list[str] = []
        if name in self._patterns and (found := self._patterns[name].fullmatch(sentence)):
            parts = [*found.groups()]
        return f"<{'|'.join([name, *parts])}>"

    def find_name(self, sentence: str, pointer: str | None = None) -> str | None:
        """Return the name of a sentence of the table, or None. The longest pattern wins."""
        for key in ((pointer, sentence), (None, sentence)):
            if key in self._whole:
                return self._whole[key]
        matching = [name for name, each in self._patterns.items() if each.fullmatch(sentence)]
        return max(matching, key=lambda name: len(self._patterns[name].pattern), default=None)


def leave_out_repeated(value: dict[str, Any]) -> dict[str, Any]:
    """Leave out of a recorded message what its body says, too: its length, and its JSON."""
    value = dict(value)
    response = value.get("response")
    if value.get("method") == "HEAD" and isinstance(response, dict):
        fields = {**response["headers"], "Content-Length": "<of a GET>"}
        value["response"] = {**response, "headers": fields}
    body, headers = value.get("body"), value.get("headers")
    if isinstance(body, str) and isinstance(headers, dict):
        is_masked = "***" in body and "Content-Length" in headers
        if is_masked or headers.get("Content-Length") == str(len(body.encode())):
            value["headers"] = {**headers, "Content-Length": SAME}
        try:
            if json.dumps(value["json"]) == json.dumps(json.loads(body)):
                value["json"] = SAME
        except (ValueError, KeyError):
            pass
    return value


def leave_out_idle(document: Any) -> Any:
    """Leave out the operations that were not called: they follow the contract alone.

    They stand in a coverage, also in that of the console, and in a verdict; of a profile, the codes
    of the contract that it does not have are left out.
    """
    if not isinstance(document, dict):
        return document
    coverage = document.get("coverage", document)
    if isinstance(coverage, dict) and {"operations", "met", "of"} <= coverage.keys():
        of_all = coverage["operations"]
        called = {name: counts for name, counts in of_all.items() if any(counts.values())}
        coverage["operations"] = called
        del coverage["of"]
    elif "unused_patterns" in document:
        found = document["findings"]
        document["findings"] = [each for each in found if each["kind"] != "idle"]
    elif "unobserved_errors" in document:
        del document["unobserved_errors"]
    return document
