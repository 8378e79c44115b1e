"""What the app sees of the head of a request."""

import pytest

from tests.raw import AUTHORIZATION, SECRET, get, post
from tests.wire import Connection

pytestmark = pytest.mark.process

WELL_FORMED = b"\r\n" + get("/1?a", "Host: localhost", "A: b")


@pytest.mark.parametrize("place", [1, 3, 20, WELL_FORMED.index(b"Host") - 1, len(WELL_FORMED) - 1])
def test_a_head_that_arrives_in_two_pieces_reaches_the_app(port: int, place: int) -> None:
    with Connection(port) as client:
        client.send_in_pieces(WELL_FORMED[:place], WELL_FORMED[place:] + get("/2"))
        first, second = client.reply().json, client.reply().json
    assert (first["path"], first["query"], second["path"]) == ("/1", "a", "/2")


def test_a_head_that_came_with_a_wrong_body_is_served_like_any_other(port: int) -> None:
    head = post("Transfer-Encoding: chunked", "X-Token: same-head")
    with Connection(port) as client:
        client.send(head + b"nonsense\r\n")
        assert client.reply().headers["Connection"] == "close"
    with Connection(port) as client:
        client.send(head + b"0\r\n\r\n")
        assert "Connection" not in client.reply().headers


@pytest.mark.parametrize(
    "raw",
    [
        get("/", "Host: localhost", AUTHORIZATION, f"A: {'x' * 16000}"),
        get("/", "Host: localhost", AUTHORIZATION, *["A: b"] * 98),
        get("/", AUTHORIZATION, version="1.0"),
        get("/", "Host: localhost", AUTHORIZATION, "A:\tb\t", "A: \xff\xfe", "A:"),
        get("/", "host:localhost", AUTHORIZATION.upper()),
        b"\r\n\r\n" + get("/", "Host: localhost", AUTHORIZATION),
    ],
)
def test_a_well_formed_head_reaches_the_app(port: int, raw: bytes) -> None:
    with Connection(port) as client:
        client.send(raw)
        environ = client.reply().json["environ"]
    assert environ["HTTP_AUTHORIZATION"].upper() == f"BEARER {SECRET.upper()}"


@pytest.mark.parametrize(
    ("target", "method", "path", "query"),
    [
        ("/", "GET", "/", ""),
        ("//v1/projects", "GET", "//v1/projects", ""),
        ("///", "GET", "///", ""),
        ("/a%2Fb%20c?d=%2F&e?f", "GET", "/a/b c", "d=%2F&e?f"),
        ("/a?", "GET", "/a", ""),
        ("/a|b{c}", "GET", "/a|b{c}", ""),
        ("http://localhost/a?b", "GET", "/a", "b"),
        ("HTTP://LOCALHOST:8080//a", "GET", "//a", ""),
        ("http://127.0.0.1", "GET", "/", ""),
        ("https://[::1]?a", "GET", "/", "a"),
        ("*", "OPTIONS", "*", ""),
    ],
)
def test_the_app_sees_path_and_query_as_they_were_sent(
    port: int, target: str, method: str, path: str, query: str
) -> None:
    with Connection(port) as client:
        client.send(get(target, method=method))
        seen = client.reply().json
    assert (seen["path"], seen["query"]) == (path, query)


def test_connect_reaches_the_app(port: int) -> None:
    with Connection(port) as client:
        client.send(get("example.com:443", method="CONNECT"))
        client.until(b"HTTP/1.1 405 METHOD NOT ALLOWED\r\n")


def test_a_field_name_with_an_underscore_is_not_one_with_a_dash(port: int) -> None:
    with Connection(port) as client:
        client.send(post("Content_Length: 99", "Transfer_Encoding: chunked", "X_A: b", "X-A: c"))
        environ = client.reply().json["environ"]
    assert environ["HTTP_X_A"] == "c"


def test_the_host_of_an_absolute_target_overrides_the_field(port: int) -> None:
    with Connection(port) as client:
        client.send(get("http://a.localhost:1/", "Host: b.localhost"))
        environ = client.reply().json["environ"]
    assert environ["HTTP_HOST"] == "a.localhost:1"


@pytest.mark.parametrize("protocol", ["websocket", "h2c", "HTTP/2.0, TLS/1.0"])
def test_an_upgrade_is_ignored(port: int, protocol: str) -> None:
    fields = ("Host: localhost", AUTHORIZATION, f"Upgrade: {protocol}", "Connection: Upgrade")
    with Connection(port) as client:
        client.send(get("/1", *fields) + get("/2", "Host: localhost"))
        reply = client.reply()
        assert (reply.version, reply.status_code, reply.json["path"]) == ("HTTP/1.1", 200, "/1")
        assert "HTTP_UPGRADE" not in reply.json["environ"]
        assert client.reply().json["path"] == "/2"


@pytest.mark.parametrize(
    ("target", "is_control"),
    [
        ("/control/x", True),
        ("/%63ontrol/x", True),
        ("/control/%2F", True),
        ("http://localhost/control/x", True),
        ("/control%2Fx", False),
        ("/control%2fx", False),
        ("/%2Fcontrol/x", False),
        ("/x?/control/", False),
    ],
)
def test_an_encoded_slash_does_not_make_a_control_route(
    control_port: int, target: str, is_control: bool
) -> None:
    too_long = 2 * 1024 * 1024  # for a route of the app
    fields = ["Host: localhost", AUTHORIZATION, f"Content-Length: {too_long}"]
    with Connection(control_port) as client:
        client.send(get(target, *fields, "Expect: 100-continue", method="POST"))
        if is_control:
            assert client.reply().status_code == 100
        else:
            client.assert_rejected(413, "body_too_large")
