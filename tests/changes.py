"""Compares responses with the recorded table: which texts are new, and which rows have changed."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from tests.rows import HOLE, Response, Texts, leave_out_idle, split_sentences

Played = Mapping[str, list[Response | None]]


class Text(NamedTuple):
    """The detail of an error, or that of one of its pointers; `marks` are recorded for it."""

    code: str
    pointer: str | None
    text: str
    marks: list[str]


def renew_texts(old: Texts, scenarios: Mapping[str, Any], played: Played) -> Texts:
    """Return the texts of these responses. A sentence that was rewritten keeps its name."""
    texts = list(find_texts(scenarios, played))
    met = set()
    rewritten: Counter[tuple[str, str]] = Counter()
    for each in (*texts, *find_further_texts(scenarios, played)):
        sentences = split_sentences(each.text)
        met |= {old.find_name(sentence, each.pointer) for sentence in (each.text, *sentences)}
        if len(each.marks) != len(sentences):
            sentences = [each.text]
        for mark, sentence in zip(each.marks, sentences, strict=False):
            name, *parts = mark.split("|")
            rewritten[name, cut_holes(sentence, parts)] += 1
    messages = []
    for message in old.messages:
        found = [key for key in rewritten if key[0] == message["name"] and key[1]]
        if message["name"] in met:
            messages.append(message)
        elif found:
            _, sentence = max(found, key=lambda key: rewritten[key])
            messages.append({**message, "sentence": sentence})
    add_new_messages(messages, texts)
    messages.sort(key=lambda message: (message["code"], message["name"]))
    bodies = [body for _, body in find_bodies(scenarios, played)]
    return Texts(messages, [renew_form(form, bodies) for form in old.forms])


def add_new_messages(messages: list[dict[str, str]], texts: Iterable[Text]) -> None:
    """Add the sentences that are not known; a detail is one, unless its first one is known."""
    known = Texts(messages, [])
    for each in texts:
        if known.name_sentences(each.text, each.pointer):
            continue
        sentences = split_sentences(each.text)
        if not known.find_name(sentences[0], each.pointer):
            sentences = [each.text]
        for sentence in sentences:
            if not known.find_name(sentence, each.pointer):
                taken = {message["name"] for message in messages}
                name = make_name(sentence, each.code if each.pointer is None else "", taken)
                messages.append({"code": each.code, "name": name, "sentence": sentence})
        known = Texts(messages, [])


def find_texts(scenarios: Mapping[str, Any], played: Played) -> Iterator[Text]:
    """Find the texts of all findings, and of the errors that have the usual form."""
    for step, body in find_bodies(scenarios, played):
        if isinstance(body, dict) and "findings" in body:
            recorded = step.get("body", body)["findings"]
            advices = {each["kind"]: each["advice"] for each in recorded}
            for each in leave_out_idle(body)["findings"]:
                marks = find_marks(advices.get(each["kind"], ""))
                yield Text(each["kind"], None, each["advice"], marks)
        if not isinstance(body, dict) or body.get("type") != "about:blank":
            continue
        code = body["code"]
        detail = step.get("detail", f"<{step.get('code')}>")
        yield Text(code, None, body["detail"], find_marks(detail))
        recorded = dict(step.get("errors", {}))
        for each in body.get("errors", ()):
            marks = find_marks(recorded.get(each["pointer"], ""))
            yield Text(code, each["pointer"], each["detail"], marks)


def find_further_texts(scenarios: Mapping[str, Any], played: Played) -> Iterator[Text]:
    """Find what findings say, and the header fields that are sentences.

    The table has their sentences only if somebody has written them there.
    """
    for step, body in find_bodies(scenarios, played):
        for member in ("findings", "violations", "unpromised"):
            if isinstance(body, dict) and member in body:
                recorded = step.get("body", body).get(member, ())
                for before, after in zip(recorded, leave_out_idle(body)[member], strict=False):
                    yield Text("", None, after["what"], find_marks(before["what"]))
    for name, responses in played.items():
        for step, response in zip(scenarios[name].steps, responses, strict=True):
            recorded = step.get("headers", {})
            for field in ("Content-Security-Policy", "WWW-Authenticate"):
                if response and isinstance(value := response.headers.get(field), str):
                    yield Text("", None, value, find_marks(str(recorded.get(field))))


def find_marks(text: str) -> list[str]:
    """Find the names of sentences in a recorded text, with what stands in their holes."""
    return re.findall(r"<([^<>]*)>", text)


def find_bodies(
    scenarios: Mapping[str, Any], played: Played
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Find each step with the JSON value of its response, if grease has not varied it."""
    for name, responses in played.items():
        if "grease" in scenarios[name].options:
            continue
        for step, response in zip(scenarios[name].steps, responses, strict=True):
            if response and "Stub-Grease" not in response.headers:
                with suppress(ValueError):
                    yield step, json.loads(response.body)


def cut_holes(sentence: str, parts: list[str]) -> str:
    """Put a hole in place of each of the parts that stand in the sentence in this order."""
    cut = ""
    for part in parts:
        start = sentence.find(part)
        if start < 0:
            return ""
        cut += sentence[:start] + HOLE
        sentence = sentence[start + len(part) :]
    return cut + sentence


def make_name(sentence: str, code: str, taken: set[str]) -> str:
    """Make the name of a sentence: the code of its error, or its first words."""
    words = re.findall(r"[a-z0-9]+", sentence.lower())
    names = [code] if code else []
    names += ["-".join(words[:count]) for count in range(3, len(words))]
    names += ["-".join(words), sentence]
    return next(name for name in names if name not in taken)


def renew_form(form: Mapping[str, Any], bodies: list[Any]) -> dict[str, Any]:
    """Return the form of the records that have its members, with the members that are new."""
    members = form["members"]
    found: defaultdict[tuple[str, ...], list[Any]] = defaultdict(list)
    for body in bodies:
        if isinstance(body, dict) and body.keys() >= members.keys():
            found[tuple(body)].append(body)
    if not found:
        return dict(form)
    names, records = max(found.items(), key=lambda each: len(each[1]))
    shared = {}
    for name in names:
        most = Counter(json.dumps(record[name]) for record in records).most_common(1)
        shared[name] = members.get(name, json.loads(most[0][0]))
    return {**form, "members": shared}


def describe_changes(
    old: Texts, new: Texts, scenarios: Mapping[str, Any], rows: Mapping[str, list[dict[str, Any]]]
) -> list[str]:
    """Describe what has changed, the most frequent changes first."""
    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, scenario in scenarios.items():
        steps = zip(scenario.steps, rows[name], strict=True)
        for number, (before, after) in enumerate(steps, start=2):
            place = f"{name}.jsonl:{number}"
            if "send" in before and "status" not in before:
                found["a response is recorded for the first time"].append((place, ""))
            else:
                before, after = ({"headers": {}, **row} for row in (before, after))
                for kind, values in dict(compare(before, after, ())).items():
                    found[kind].append((place, values))
    lines = [f"{kind}{values}" for kind, values in compare_texts(old, new)]
    for kind, met in sorted(found.items(), key=lambda item: -len(item[1])):
        different = {values for _, values in met}
        example = met[0][1] if len(different) == 1 else f", such as{met[0][1]}"
        places = ", ".join([place for place, _ in met[:3]])
        more = ", …" if len(met) > 3 else ""
        lines.append(
            f"{len(met)} {'row' if len(met) == 1 else 'rows'}: {kind}{example} ({places}{more})"
        )
    return lines


Difference = tuple[str, str]
"""A kind of difference, such as `response member region is new`, and its values."""


def compare_texts(old: Texts, new: Texts) -> Iterator[Difference]:
    """Find what differs in the sentences and forms."""
    yield from compare(name_sentences(old), name_sentences(new), ("message",))
    yield from compare(name_members(old), name_members(new), ("record",))


def name_sentences(texts: Texts) -> dict[str, str]:
    return {each["name"]: each["sentence"] for each in texts.messages}


def name_members(texts: Texts) -> dict[str, Any]:
    return {each["name"]: each["members"] for each in texts.forms}


def compare(before: Any, after: Any, path: tuple[str, ...]) -> Iterator[Difference]:
    """Find what differs between two JSON values of which each is at a path of its row."""
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for old, new in zip(before, after, strict=True):
            yield from compare(old, new, path)
    elif isinstance(before, dict) and isinstance(after, dict):
        for name in after:
            if name not in before:
                yield f"{describe_place((*path, name))} is new", f": {quote(after[name])}"
        for name in before:
            if name not in after:
                yield f"{describe_place((*path, name))} is gone", ""
        common = [name for name in before if name in after]
        if common != [name for name in after if name in before]:
            yield f"the members of the {describe_place(path)} have another order", ""
        for name in common:
            yield from compare(before[name], after[name], (*path, name))
    elif json.dumps(before) != json.dumps(after):
        yield f"{describe_place(path)} has changed", f": {quote(before)} → {quote(after)}"


def describe_place(path: tuple[str, ...]) -> str:
    """Describe a place in a row: `response member projects.name`, or `header Location`."""
    words = {"body": "response member", "headers": "header", "errors": "error at"}
    first, *rest = path or ("row",)
    return " ".join([words.get(first, first) if rest else first, ".".join(rest)]).rstrip()


def quote(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:80]}…"
