"""Compares responses with the recorded table: which texts are new, and which rows have changed."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Any

from tests.rows import HOLE, Response, Texts, split_sentences

ALIKE = 0.6  # of two sentences, so that one may be the other one rewritten
Played = Mapping[str, list[Response | None]]


def renew_texts(old: Texts, scenarios: Mapping[str, Any], played: Played) -> Texts:
    """Return the texts of these responses. A sentence that was rewritten keeps its name."""
    bodies = list(find_bodies(scenarios, played))
    unknown: dict[str, str] = {}
    met = set()
    for body in bodies:
        if isinstance(body, dict) and body.get("type") == "about:blank":
            for sentence in find_sentences(body, old):
                if named := old.find_name(sentence):
                    met.add(named)
                else:
                    unknown[sentence] = body["code"]
    recorded = json.dumps([scenario.steps for scenario in scenarios.values()])
    messages = []
    for message in old.messages:
        if message["name"] not in met:
            sentence = find_rewritten(message, unknown, recorded)
            if not sentence:
                continue
            message = {**message, "sentence": sentence}
            known = Texts([message], [])
            unknown = {each: code for each, code in unknown.items() if not known.find_name(each)}
        messages.append(message)
    for sentence, code in unknown.items():
        name = make_name(sentence, code, {each["name"] for each in messages})
        messages.append({"code": code, "name": name, "sentence": sentence})
    messages.sort(key=lambda each: (each["code"], each["name"]))
    return Texts(messages, [renew_form(form, bodies) for form in old.forms])


def find_bodies(scenarios: Mapping[str, Any], played: Played) -> Iterator[Any]:
    """Find the JSON values of all bodies that grease has not varied."""
    for name, responses in played.items():
        if "grease" in scenarios[name].options:
            continue
        for response in responses:
            if response and "Stub-Grease" not in response.headers:
                with suppress(ValueError):
                    yield json.loads(response.body)


def walk(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from walk(each)


def find_sentences(problem: Mapping[str, Any], texts: Texts) -> Iterator[str]:
    """Find the sentences of an error; a detail is one, unless its first sentence is known."""
    for text in (problem["detail"], *[each["detail"] for each in problem.get("errors", ())]):
        sentences = split_sentences(text)
        if not texts.find_name(text) and texts.find_name(sentences[0]):
            yield from sentences
        else:
            yield text


def find_rewritten(
    message: Mapping[str, str], unknown: Mapping[str, str], recorded: str
) -> str | None:
    """Find how a sentence that no response has now was rewritten."""
    holes = message["sentence"].count(HOLE)
    marks = re.findall(rf"<{re.escape(message['name'])}\|([^<>]*)>", recorded)
    candidates = []
    for sentence, code in unknown.items():
        if code == message["code"]:
            candidates.append(sentence)
            candidates += [cut_holes(sentence, mark.split("|")) for mark in marks]
    candidates = [each for each in candidates if each.count(HOLE) == holes]
    alike = {each: SequenceMatcher(None, message["sentence"], each).ratio() for each in candidates}
    best = max(alike, key=lambda each: alike[each], default=None)
    return best if best and alike[best] > ALIKE else None


def cut_holes(sentence: str, parts: list[str]) -> str:
    """Put a hole in place of each of the parts that stand in the sentence in this order."""
    cut = ""
    for part in parts:
        before, found, sentence = sentence.partition(part)
        if not found:
            return ""
        cut += before + HOLE
    return cut + sentence


def make_name(sentence: str, code: str, taken: set[str]) -> str:
    """Make the name of a sentence: the code of its error, or its first words."""
    words = re.findall(r"[a-z0-9]+", sentence.lower())
    names = [code] if sentence[0].isupper() else []
    names += ["-".join(words[:count]) for count in range(3, len(words))]
    names += [" ".join(words), sentence]
    return next(name for name in names if name not in taken)


def renew_form(form: Mapping[str, Any], bodies: list[Any]) -> dict[str, Any]:
    """Return the form of the records that have its members, with the members that are new."""
    members = form["members"]
    found: defaultdict[tuple[str, ...], list[Any]] = defaultdict(list)
    for value in walk(bodies):
        if isinstance(value, dict) and value.keys() >= members.keys():
            found[tuple(value)].append(value)
    if not found or tuple(members) in found:
        return dict(form)
    names, records = max(found.items(), key=lambda each: len(each[1]))
    shared = {}
    for name in names:
        most = Counter(json.dumps(record[name]) for record in records).most_common(1)
        shared[name] = members.get(name, json.loads(most[0][0]))
    return {**form, "members": shared}


def describe_changes(
    old: Texts,
    new: Texts,
    scenarios: Mapping[str, Any],
    rows: Mapping[str, list[dict[str, Any]]],
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
    yield from compare(name_members(old), name_members(new), ("form",))


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
