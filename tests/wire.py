"""Raw requests on sockets, and the responses that come back."""

import json
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from werkzeug.datastructures import Headers

from tests.contract import assert_problem

SECRET = "tok-5ecret"
AUTHORIZATION = f"Authorization: Bearer {SECRET}"


def get(target: str = "/", *fields: str, version: str = "1.1", method: str = "GET") -> bytes:
    """A request without a body; without fields it has a Host."""
    lines = [f"{method} {target} HTTP/{version}", *(fields or ("Host: localhost",)), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def post(*fields: str, body: bytes = b"", version: str = "1.1") -> bytes:
    """A POST request with a Host, these fields, and the body as it is."""
    return get("/", "Host: localhost", *fields, version=version, method="POST") + body


def free_port() -> int:
    """A port to listen on again and again: systems give clients no port below 32768."""
    while True:
        port = secrets.choice(range(20_000, 32_768))
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@dataclass(frozen=True)
class Reply:
    """A response; its names are those of Werkzeug's responses."""

    version: str
    status_code: int
    headers: Headers
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)


class Connection:
    """One client's connection; every wait on it ends after a minute."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.sock = socket.create_connection((host, port), timeout=60)
        self.unread = bytearray()  # bytes are copied whenever some are added

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *exc: object) -> None:
        self.sock.close()

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def more(self) -> bytes:
        data = self.sock.recv(65536)
        self.unread += data
        return data

    def until(self, mark: bytes) -> bytes:
        while mark not in self.unread:
            assert self.more(), f"closed after {self.unread!r}"
        found, _, self.unread = self.unread.partition(mark)
        return bytes(found)

    def reply(self, *, head: bool = False) -> Reply:
        """The next response; one to a HEAD request has no body."""
        status_line, *lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status, _ = status_line.split(" ", 2)
        headers = Headers(
            [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
        )
        if "Transfer-Encoding" in headers and not head:
            body = b"".join(iter(self.chunk, b""))
        else:
            has_body = not head and status not in ("100", "204")
            body = self.exactly(int(headers["Content-Length"]) if has_body else 0)
        return Reply(version, int(status), headers, body)

    def chunk(self) -> bytes:
        """The next chunk of a chunked body."""
        size = int(self.until(b"\r\n"), 16)
        return self.exactly(size + 2)[:-2]

    def exactly(self, length: int) -> bytes:
        while len(self.unread) < length:
            assert self.more(), f"closed after {len(self.unread)} of {length} bytes"
        data = bytes(self.unread[:length])
        del self.unread[:length]
        return data

    def closed(self) -> bool:
        """Whether the server closes without another byte."""
        with suppress(ConnectionResetError):
            return not self.unread and not self.more()
        return True

    def assert_rejected(self, status: int, code: str, *, head: bool = False) -> Reply:
        """The next response is an error of the server's own, which ends the connection."""
        reply = self.reply(head=head)
        assert reply.headers["Connection"] == "close"
        assert_problem(reply, status, code, head=head)
        assert SECRET not in reply.data.decode()
        assert self.closed()
        return reply


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def is_refused(url: str) -> bool:
    """Whether nothing listens at the port of a URL."""
    try:
        socket.create_connection(("127.0.0.1", port_of(url)), timeout=30).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # The server closes at this moment.
        return False
    return False


def call(
    url: str, target: str, *, method: str = "", body: bytes = b"", token: str = "dev-token"
) -> Reply:
    """The response to a request with a token and perhaps a JSON body."""
    fields = ["Host: localhost", f"Authorization: Bearer {token}", "Connection: close"]
    if body:
        fields += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    with Connection(port_of(url)) as client:
        method = method or ("POST" if body else "GET")
        client.send(get(target, *fields, method=method) + body)
        return client.reply(head=method == "HEAD")
