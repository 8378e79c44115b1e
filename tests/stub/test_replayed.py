"""The stub responds as recorded to a large table of requests, in memory and over Redis.

It does so with what makes it faster, too: in the app, and in the server.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from socket import SHUT_WR
from typing import Any

import pytest
from flask import Flask
from werkzeug.datastructures import EnvironHeaders

import server
from redis_store import RedisStores
from redis_store.document import digest_text
from tests.live import serving
from tests.redis_server import RedisServer
from tests.replayed import COMMAND, SCENARIOS, Scenario, make_rows, play, read
from tests.rows import Response, Texts, read_lines
from tests.wire import Connection, get
from web.speedups import speed_up

TEXTS = Texts.read()
ADVICE = f"see what has changed: {COMMAND} --diff; if it is meant, record it: {COMMAND}"


def assert_recorded(scenario: Scenario, responses: list[Response | None]) -> None:
    rows = make_rows(scenario, responses, TEXTS)
    for row, recorded in zip(rows, scenario.steps, strict=True):
        assert json.dumps(row) == json.dumps(recorded), ADVICE  # in the same order, too


@pytest.mark.parametrize("name", SCENARIOS)
def test_responses_are_those_that_were_recorded(name: str) -> None:
    scenario = read(name)
    responses = play(scenario)
    assert_recorded(scenario, responses)
    assert play(scenario, speed_up) == responses


def test_each_sentence_stands_once_and_some_response_has_it() -> None:
    rows = json.dumps([read(name).steps for name in SCENARIOS])
    for message in read_lines("messages"):
        name = message["name"]
        used = (f"<{name}>" in rows, f"<{name}|" in rows, f'"code": "{name}"' in rows)
        assert any(used), ADVICE
    sentences = [(each["sentence"], each.get("pointer")) for each in read_lines("messages")]
    assert len(sentences) == len({*sentences}), ADVICE
    assert len(sentences) == len({each["name"] for each in read_lines("messages")}), ADVICE


# What a server may send in another way: odd requests, and bodies, fields and ends of all kinds.
OVER_THE_WIRE = ["session", "bodies", "browsers", "bounds", "delayed", "failing-cut-body", "faults",
                 "failing-lost-response", "fault-bodies", "grease-all", "like-prisma-varied",
                 "methods", "own-no-bodies", "paths", "precedence", "rejected"]  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("name", OVER_THE_WIRE)
def test_responses_over_the_wire_are_the_same_with_and_without_speedups(name: str) -> None:
    scenario = read(name)
    with ExitStack() as stack:
        plain = play(scenario, lambda app: stack.enter_context(over_the_wire(app)))
        change = server.speed_up
        fast = play(scenario, lambda app: stack.enter_context(over_the_wire(speed_up(app), change)))
    for played, expected in zip(fast, plain, strict=True):
        assert played == expected


@contextmanager
def over_the_wire(
    app: Flask, prepare: Callable[[server.Server], None] = lambda server: None
) -> Iterator[Any]:
    """A WSGI app that asks a server of the app."""
    with serving(app, threads=1, prepare=prepare) as port:

        def ask(environ: dict[str, Any], start_response: Any) -> list[bytes]:
            method = environ["REQUEST_METHOD"]
            body = environ["wsgi.input"].read()
            fields = [f"{name}: {value}" for name, value in EnvironHeaders(environ)]
            with Connection(port) as client:
                client.send(get(environ["REQUEST_URI"], *fields, method=method) + body)
                with suppress(OSError):  # The server may have closed the connection.
                    client.sock.shutdown(SHUT_WR)
                with suppress(ConnectionResetError):
                    while client.more():
                        pass
            received = re.sub(rb"\r\nDate: [^\r]*", b"", client.unread)
            head, _, content = received.partition(b"\r\n\r\n")
            status, *sent = head.decode("latin-1").split("\r\n")
            headers = [tuple(each.split(": ", 1)) for each in sent]
            start_response(status.partition(" ")[2] or "0 dropped", headers)
            return [content]

        yield ask


@pytest.mark.process
@pytest.mark.parametrize("name", [name for name in SCENARIOS if read(name).over_redis])
def test_responses_over_redis_are_those_that_were_recorded(
    name: str, shared_redis: RedisServer, redis_stores: RedisStores
) -> None:
    redis = shared_redis.client

    def rewrite() -> None:
        """Change each new document by a space, so that the program reads what it has written."""
        for key in redis.scan_iter():
            text: Any = redis.hget(key, "document")
            if not text.endswith(b" "):
                text += b" "
                redis.hset(key, mapping={"version": digest_text(text), "document": text})

    def with_others(app: Flask) -> Flask:
        app.before_request(rewrite)
        return app

    scenario = read(name)
    assert_recorded(scenario, play(scenario, with_others, stores=redis_stores))
