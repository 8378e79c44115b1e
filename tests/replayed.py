"""What the stub responds to a large table of requests, as recorded: the files of `replayed/`.

A file is a scenario. Its first line has the options of the app, of which `like` is a profile or the
name of one in `services/`, and `failures` the name of a failure with the requests of the plain run.
Each further line has a request and its response, followed by the seconds that it was delayed, if it
was; or `advance`, the seconds by which the clock of the machine goes on. To add a request, write a
line with its `send` alone. To record the responses anew, run

    .venv/bin/python -m tests.replayed

and read the difference. What follows the contract or the guide alone is not recorded: their text,
and of a coverage or a verdict the operations that were not called.
"""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Flask
from werkzeug.test import create_environ, run_wsgi_app

from profiles.profile import make_profile
from stub.grease.axes import parse_axes
from stub.request.failures import Failures, RunJournal
from stub.world.seed import make_sample
from tests.conftest import BEARER, START, Clock, make_stub, seed_of
from tests.contract import V1
from tests.services import DOCUMENTS
from tests.stores import ids_counted_by_prefix

FOLDER = Path(__file__).parent / "replayed"
SCENARIOS = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
COMMAND = ".venv/bin/python -m tests.replayed"
TEXTS = ("/openapi.json", "/_stub/openapi.json", "/llms.txt")
FOLLOWING = (*TEXTS, "/_stub/coverage", "/_stub/verdict", "/_stub/console", "/_stub/like")
OPERATIONS = [operation["operationId"] for _, _, operation in V1.operations()]
LONG = 4000  # characters of a body, of which the file has the digest alone
USUAL = {"Cache-Control": "no-store", "Content-Type": "application/json"}


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
        options["failures"] = failures_after(*given["failures"])
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
    lines: list[dict[str, Any]], change: Callable[[Flask], Flask] = lambda app: app, **more: Any
) -> list[dict[str, Any]]:
    """The lines of a scenario, with the responses of a new app, which `change` may change."""
    given, *steps = lines
    clock = Clock()
    waits: list[float] = []
    app = change(make_app(given, clock, sleep=waits.append, **more))
    played = [given]
    for step in steps:
        if "advance" in step:
            clock.advance(step["advance"])
            played.append(step)
        else:
            status, unusual, text = response_to(app, step["send"])
            got = [status, unusual, shortened(text), *waits]
            waits.clear()
            played.append({"send": step["send"], "got": got})
    return played


def response_to(app: Flask, send: list[Any]) -> list[Any]:
    """Its status, the fields in which it differs from most responses, and its body."""
    method, target, *rest = send
    body = rest[0] if rest else ""
    headers = rest[1] if len(rest) > 1 else {}
    raw = body.encode("latin-1") if isinstance(body, str) else json.dumps(body).encode()
    headers = {**BEARER, **({"Content-Type": "application/json"} if raw else {}), **headers}
    environ = create_environ(target, method=method, data=raw, headers=headers)
    if "Content-Length" in headers:  # another than that of the body
        environ["CONTENT_LENGTH"] = headers["Content-Length"]
    chunks, status, sent = run_wsgi_app(app, environ)  # no client stands between
    fields = sent.to_wsgi_list()
    data = re.sub(rb'"instance": "\w+"', b'"instance": "random"', b"".join(chunks))
    unusual: list[list[str | None]] = []
    unusual += [[name, value] for name, value in fields if USUAL.get(name) != value]
    unusual += [[name, None] for name in USUAL if name not in sent]
    if ["Content-Length", str(len(data))] in unusual:
        unusual.remove(["Content-Length", str(len(data))])
    text = re.sub(r'"ms": ([0-9.]+)', tens_of_seconds, data.decode("latin-1"))
    path = target.partition("?")[0]
    if status == "200 OK" and path in FOLLOWING:
        unusual = [field for field in unusual if field[0] != "Content-Length"]  # that of HEAD
        if path in TEXTS and text:
            text = "a text"
    for between in (", ", " or "):
        text = text.replace(between.join(OPERATIONS), "the operations")
    return [status, unusual, leave_out_idle(text)]


def leave_out_idle(text: str) -> str:
    """Return the text of a body without the operations that were not called.

    They stand in a coverage, also in that of the console, and in a verdict; of a profile, the codes
    of the contract that it does not have are left out.
    """
    try:
        document = json.loads(text)
    except ValueError:
        return text
    if not isinstance(document, dict):
        return text
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
    else:
        return text
    return f"{json.dumps(document, ensure_ascii=text.isascii())}\n"


def shortened(text: str) -> str:
    if len(text) <= LONG:
        return text
    digest = hashlib.sha256(text.encode("latin-1")).hexdigest()
    return f"sha256 {digest}"


def tens_of_seconds(found: re.Match[str]) -> str:
    """Of a duration, which is that of a delay where the clock runs; a busy machine adds less."""
    return f'"ms": {float(found[1]) // 10_000 * 10_000:.0f}'


def read(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def write(name: str, lines: list[dict[str, Any]]) -> None:
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (FOLDER / f"{name}.jsonl").write_text(text, "utf-8")


if __name__ == "__main__":
    for each in SCENARIOS:
        write(each, play(read(each)))
