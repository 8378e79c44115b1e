"""What the stub responds to a large table of requests, as recorded: the files of `replayed/`.

A file is a scenario. Its first line is its head: the `options` of the app, of which `like` is a
profile or the name of one in `services/`, and `failures` the name of a failure with the requests of
the plain run; the `headers` that its responses share; and `redis`, if it is played over Redis, too.
Each further line has a request and its response, as `rows.py` writes it; or `advance`, the seconds
by which the clock of the machine goes on. To add a request, write a line with its `send` only:

    {"send": ["POST", "/v1/projects", {"name": "shop"}, {"Prefer": "code=503"}]}

The first command prints what has changed, the second one records the responses anew:

    .venv/bin/python -m tests.replayed --diff
    .venv/bin/python -m tests.replayed

A row that shows nothing new is left out:

- A rejection that no option changes stands only in the scenario about it: `bodies`, `methods`,
  `paths` or `rejected`.
- The read that shows that rejections have changed nothing follows the last of them, not each one.
- In `grease-each-part` the first part of an axis has all responses, and the further parts have only
  those that vary.
- A sentence stands in `messages.jsonl`, and in at most two rows in which its text is varied or cut.

What follows the contract or the guide alone is not recorded: their text, the files of the console,
and of a coverage or a verdict the operations that were not called.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from flask import Flask, request_finished
from werkzeug.test import create_environ, run_wsgi_app

from profiles.profile import make_profile
from stub.failures import Failures, RunJournal
from stub.grease.axes import parse_axes
from stub.sample import make_sample
from tests.changes import describe_changes, renew_texts
from tests.conftest import BEARER, START, Clock, make_stub, seed_of
from tests.contract import V1
from tests.rows import FOLDER, Response, Texts, read_lines, write_lines
from tests.services import DOCUMENTS
from tests.stores import ids_counted_by_prefix

TABLES = ("messages", "records")
SCENARIOS = sorted({path.stem for path in FOLDER.glob("*.jsonl")} - {*TABLES})
COMMAND = ".venv/bin/python -m tests.replayed"
TEXTS = re.compile(r"/openapi\.json|/_stub/openapi\.json|/llms\.txt|/_stub/console/.+")
OPERATIONS = [operation["operationId"] for _, _, operation in V1.operations()]


class Scenario(NamedTuple):
    """A file of the table; a step is a request, with or without its response, or an advance."""

    options: dict[str, Any]
    headers: dict[str, Any]
    over_redis: bool
    steps: list[dict[str, Any]]


def read(name: str) -> Scenario:
    """Read a scenario."""
    head, *steps = read_lines(name)
    options, headers = head.get("options", {}), head.get("headers", {})
    return Scenario(options, headers, head.get("redis", False), steps)


def write(name: str, scenario: Scenario, rows: list[dict[str, Any]]) -> None:
    """Write a scenario with these rows."""
    head: dict[str, Any] = {"options": scenario.options, "headers": scenario.headers}
    if scenario.over_redis:
        head["redis"] = True
    write_lines(name, [head, *rows])


def make_app(given: dict[str, Any], clock: Clock, **more: Any) -> Flask:
    """The app of a scenario; its responses depend on the requests alone, and it never waits."""
    options: dict[str, Any] = {"freeze": START, **given, **more}
    like = given.get("like")
    profile = make_profile(DOCUMENTS[like] if isinstance(like, str) else like) if like else None
    seed = seed_of(given["seed"]) if "seed" in given else make_sample(profile)
    states = {name: seed_of(each) for name, each in given.get("states", {}).items()}
    options |= {"like": profile, "seed": seed, "states": states}
    if given.get("runs"):  # the clocks
        options["freeze"] = None
    options.pop("runs", None)
    if "grease" in given:
        options["grease"] = parse_axes(given["grease"])
    if "failures" in given:
        options["planned_faults"] = failures_after(*options.pop("failures"))
    options = {"sleep": lambda seconds: None, **options}
    return make_stub(clock=clock, new_id=ids_counted_by_prefix(), **options)


def failures_after(name: str, *plain_requests: list[Any]) -> Failures:
    """The failures of a run that comes after a plain one."""
    journal = RunJournal(lambda response: response)
    app = make_app({}, Clock(), log=journal.add)
    for send in plain_requests:
        response_to(app, send)
    return Failures(name, journal.attempts)


def play(
    scenario: Scenario, change: Callable[[Flask], Flask] = lambda app: app, **more: Any
) -> list[Response | None]:
    """The responses of a new app, which `change` may change, to the steps of a scenario."""
    clock = Clock()
    waits: list[float] = []
    whole: list[bytes] = []
    made = make_app(scenario.options, clock, sleep=waits.append, **more)
    app = change(made)

    def keep_whole(sender: Flask, response: Any, **_: Any) -> None:
        whole.append(response.get_data() if response.is_sequence else b"")

    responses: list[Response | None] = []
    with request_finished.connected_to(keep_whole, made):
        for step in scenario.steps:
            if "advance" in step:
                clock.advance(step["advance"])
                responses.append(None)
                continue
            response = response_to(app, step["send"], whole)
            responses.append(response._replace(waited=(*waits,)))
            waits.clear()
            whole.clear()
    return responses


def response_to(app: Flask, send: list[Any], whole: list[bytes] | None = None) -> Response:
    """The response to a request; that of a HEAD has the body of a GET, which is in `whole`."""
    method, target, *rest = send
    body = rest[0] if rest else ""
    headers = rest[1] if len(rest) > 1 else {}
    raw = body.encode("latin-1") if isinstance(body, str) else json.dumps(body).encode()
    headers = {**BEARER, **({"Content-Type": "application/json"} if raw else {}), **headers}
    environ = create_environ(target, method=method, data=raw, headers=headers)
    if "Content-Length" in headers:  # another than that of the body
        environ["CONTENT_LENGTH"] = headers["Content-Length"]
    chunks, status, sent = run_wsgi_app(app, environ)  # no client stands between
    data = b"".join(chunks)
    fields: dict[str, Any] = {}
    for name, value in sent.to_wsgi_list():
        fields[name] = [*fields[name], value] if name in fields else [value]
    fields = {name: each if len(each) > 1 else each[0] for name, each in fields.items()}
    length = fields.get("Content-Length")
    if method == "HEAD" and not data and whole and length == str(len(whole[0])):
        data = whole[0]
    if length == str(len(data)):
        del fields["Content-Length"]
    elif whole and length == str(len(whole[0])):  # A fault has cut the body.
        fields["Content-Length"] = "of the whole body"
    path = target.partition("?")[0]
    if TEXTS.fullmatch(path) and status == "200 OK" and data:
        data = b"a text"
    return Response(status, fields, leave_out_chance(data))


def leave_out_chance(body: bytes) -> bytes:
    """Replace what differs with each run, and the list of the operations."""
    body = re.sub(rb'"instance": "\w+"', b'"instance": "random"', body)
    body = re.sub(rb'"ms": ([0-9.]+)', tens_of_seconds, body)
    for between in (", ", " or "):
        body = body.replace(between.join(OPERATIONS).encode(), b"the operations")
    return body


def tens_of_seconds(found: re.Match[bytes]) -> bytes:
    """Of a duration, which is that of a delay where the clock runs; a busy machine adds less."""
    return f'"ms": {float(found[1]) // 10_000 * 10_000:.0f}'.encode()


def make_rows(
    scenario: Scenario, responses: list[Response | None], texts: Texts
) -> list[dict[str, Any]]:
    """Make the rows of a scenario."""
    rows = []
    for step, response in zip(scenario.steps, responses, strict=True):
        if response is None:
            rows.append(step)
        else:
            row = texts.make_row(response, scenario.headers)
            rows.append({"send": step["send"], **row})
    return rows


def share_headers(responses: list[Response | None]) -> dict[str, Any]:
    """Return the header fields that more than half of the responses have, but for their type."""
    found: Counter[str] = Counter()
    received = [each for each in responses if each]
    for response in received:
        fields = {k: v for k, v in response.headers.items() if k != "Content-Type"}
        found.update(json.dumps(field) for field in fields.items())
    return dict(sorted(json.loads(field) for field in found if found[field] * 2 > len(received)))


def main(arguments: list[str]) -> None:
    """Record the responses, or print how they differ from the recorded ones."""
    if arguments not in ([], ["--diff"]):
        sys.exit(f"use: {COMMAND} [--diff]")
    scenarios = {name: read(name) for name in SCENARIOS}
    played = {name: play(scenario) for name, scenario in scenarios.items()}
    old = Texts.read()
    texts = renew_texts(old, scenarios, played)
    rows = {}
    for name, scenario in scenarios.items():
        scenario = scenario._replace(headers=share_headers(played[name]))
        rows[name] = make_rows(scenario, played[name], texts)
        if arguments != ["--diff"]:
            write(name, scenario, rows[name])
    if arguments == ["--diff"]:
        lines = describe_changes(old, texts, scenarios, rows)
        print("\n".join(lines or ["No response has changed."]))
    else:
        write_lines("messages", texts.messages)
        write_lines("records", texts.forms)


if __name__ == "__main__":
    main(sys.argv[1:])
