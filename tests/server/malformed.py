"""Malformed requests, each with the place where it is rejected."""

from typing import NamedTuple

from tests.raw import AUTHORIZATION, SECRET, get, post


class Case(NamedTuple):
    """A request, and bytes in it the last of which is the first wrong one."""

    raw: bytes
    wrong: bytes

    @property
    def read(self) -> int:
        """The number of bytes that are read before the request is rejected."""
        return self.raw.index(self.wrong) + len(self.wrong)


def chunked(body: bytes, wrong: bytes) -> Case:
    return Case(post("Transfer-Encoding: chunked", f"X-Token: {SECRET}", body=body), wrong)


BYTES = {
    "TLS": Case(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x16"),
    "a NUL in the target": Case(get("/a\x00b"), b"\x00"),
    "bare LFs": Case(b"GET / HTTP/1.1\nHost: localhost\n\n", b"\n"),
    "a bare LF after the request line": Case(b"GET / HTTP/1.1\nHost: localhost\r\n\r\n", b"\n"),
    "a bare LF between fields": Case(
        get("/", "Host: localhost", f"{AUTHORIZATION}\nA: b"), b"ecret\n"
    ),
    "a bare CR in a field": Case(get("/", "Host: localhost", f"{AUTHORIZATION}\rA: b"), b"\rA"),
    "a bare LF before the request": Case(b"\n" + get(), b"\n"),
    "a doubled CR": Case(b"GET / HTTP/1.1\r\r\nHost: localhost\r\n\r\n", b"\r\r"),
    "a NUL in a value": Case(get("/", "Host: localhost", f"A: {SECRET}\x00"), b"\x00"),
    "a DEL in a value": Case(get("/", "Host: localhost", "A: \x7f"), b"\x7f"),
}

# Seen at the end of the request line.
REQUEST_LINES = {
    "HTTP/0.9": b"GET /\r\n",
    "HTTP/0.9 with fields": b"GET /\r\nHost: localhost\r\n\r\n",
    "HTTP/1.2": get(version="1.2"),
    "HTTP/1.10": get(version="1.10"),
    "an HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a doubled space before the target": b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a doubled space after the target": b"GET /  HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a space in the target": get(f"/{SECRET} x"),
    "a tab in the target": get("/a\tb"),
    "a byte beyond ASCII in the target": get("/a\xe9"),
    "a fragment": get("/a#b"),
    "a relative target": get("v1/projects"),
    "another scheme": get("ftp://localhost/"),
    "an unclosed bracket": get("http://[::1/"),
    "no host in the target": get("http:///v1"),
    "a user in the target": get(f"http://{SECRET}@localhost/"),
    "a word for a port in the target": get("http://localhost:http/"),
    "the target * with GET": get("*"),
    "CONNECT with a path": get("/", method="CONNECT"),
    "CONNECT without a port": get("localhost", method="CONNECT"),
    "GET with an authority": get("localhost:80"),
    "a method in lower case": get(method="get"),
    "a method that is no token": get(method="G@T"),
    "no method": b" / HTTP/1.1\r\nHost: localhost\r\n\r\n",
}

# Seen at the end of the head.
FIELDS = {
    "folding": get("/", "Host: localhost", AUTHORIZATION, " continued"),
    "folding by a tab": get("/", "Host: localhost", AUTHORIZATION, "\tcontinued"),
    "a space before the colon": get("/", "Host: localhost", f"Authorization : Bearer {SECRET}"),
    "no name": get("/", "Host: localhost", f": {SECRET}"),
    "no colon": get("/", "Host: localhost", SECRET),
    "a name beyond ASCII": get("/", "Host: localhost", "N\xe4me: b"),
    "no Host": get("/", "A: b"),
    "an empty Host": get("/", "Host:"),
    "two Hosts": get("/", "Host: localhost", "Host: localhost"),
    "two Hosts in HTTP/1.0": get("/", "Host: localhost", "Host: localhost", version="1.0"),
    "a Host with a space": get("/", "Host: local host"),
    "a Host with two ports": get("/", "Host: localhost:80:80"),
    "a Host with a word for a port": get("/", "Host: localhost:http"),
    "a Host list": get("/", "Host: localhost, localhost"),
    "an unclosed Host": get("/", "Host: [::1"),
    "two Authorizations": get("/", "Host: localhost", AUTHORIZATION, AUTHORIZATION),
    "two Authorizations in two cases": get(
        "/", "Host: localhost", AUTHORIZATION, AUTHORIZATION.lower()
    ),
    "an empty Content-Length": post("Content-Length:"),
    "a signed Content-Length": post("Content-Length: +5", body=b"hello"),
    "a Content-Length with an underscore": post("Content-Length: 1_0", body=b"0123456789"),
    "a Content-Length beyond ASCII": post("Content-Length: \xb2", body=b"he"),
    "a Content-Length list": post("Content-Length: 5, 5", body=b"hello"),
    "two equal Content-Lengths": post("Content-Length: 5", "Content-Length: 5", body=b"hello"),
    "two Content-Lengths": post("Content-Length: 5", "Content-Length: 6", body=b"hello"),
    "a Content-Length of 20 digits": post(f"Content-Length: {'9' * 20}"),
    "a Content-Length of 5,000 digits": post(f"Content-Length: {'9' * 5000}"),
    "both framings": post("Content-Length: 5", "Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
    "both, the other way": post(
        "Transfer-Encoding: chunked", "Content-Length: 5", body=b"0\r\n\r\n"
    ),
    "chunked in HTTP/1.0": post("Transfer-Encoding: chunked", body=b"0\r\n\r\n", version="1.0"),
    "chunked twice": post("Transfer-Encoding: chunked, chunked", body=b"0\r\n\r\n"),
    "chunked in two fields": post(*["Transfer-Encoding: chunked"] * 2, body=b"0\r\n\r\n"),
    "gzip before chunked": post("Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"),
    "identity": post("Transfer-Encoding: identity", body=b"hello"),
    "an unknown coding": post(f"Transfer-Encoding: {SECRET}", body=b"hello"),
    "an empty coding": post("Transfer-Encoding:", body=b"0\r\n\r\n"),
    "chunked with a parameter": post("Transfer-Encoding: chunked;q=1", body=b"0\r\n\r\n"),
}

BODIES = {
    "a chunk size that is none": chunked(b"Z\r\nhello\r\n0\r\n\r\n", b"Z\r\n"),
    "an empty chunk size": chunked(b"\r\n5\r\nhello\r\n0\r\n\r\n", b"\r\n\r\n\r\n"),
    "a signed chunk size": chunked(b"+5\r\nhello\r\n0\r\n\r\n", b"+5\r\n"),
    "a chunk size with 0x": chunked(b"0x5\r\nhello\r\n0\r\n\r\n", b"0x5\r\n"),
    "a chunk size with an underscore": chunked(b"0_5\r\nhello\r\n0\r\n\r\n", b"0_5\r\n"),
    "a chunk size with a space": chunked(b"5 \r\nhello\r\n0\r\n\r\n", b"5 \r\n"),
    "a chunk size of 17 digits": chunked(b"00000000000000005\r\nhello\r\n0\r\n\r\n", b"0005\r\n"),
    "a chunk size that ends in LF": chunked(b"5\nhello\r\n0\r\n\r\n", b"5\n"),
    "a chunk size that ends in LF so far": chunked(b"5\n", b"5\n"),
    "a chunk extension without a name": chunked(b"5;=1\r\nhello\r\n0\r\n\r\n", b"=1\r\n"),
    "a chunk extension with a NUL": chunked(b"5;a=\x00\r\nhello\r\n0\r\n\r\n", b"\x00"),
    "an unclosed chunk extension": chunked(b'5;a="b\r\nhello\r\n0\r\n\r\n', b'"b\r\n'),
    "an endless chunk extension": chunked(b"5;" + b"a" * 5000, b"a" * 4095),
    "no CRLF after a chunk": chunked(b"5\r\nhello0\r\n\r\n", b"hello0"),
    "no CRLF after a chunk so far": chunked(b"5\r\nhello0", b"hello0"),
    "a chunk longer than its size": chunked(b"4\r\nhello\r\n0\r\n\r\n", b"hello"),
    "a CR alone after a chunk": chunked(b"5\r\nhello\r0\r\n\r\n", b"hello\r0"),
    "a CR too many after a chunk": chunked(b"5\r\nhello\r\r\n0\r\n\r\n", b"hello\r\r"),
    "a malformed trailer": chunked(f"0\r\n{SECRET}\r\n\r\n".encode(), b"0\r\ntok-5ecret\r\n"),
    "a folded trailer": chunked(b"0\r\nA: b\r\n c\r\n\r\n", b" c\r\n"),
    "a trailer that ends in LF": chunked(b"0\r\nA: b\n\r\n\r\n", b"A: b\n"),
}

ALL = {
    **BYTES,
    **{name: Case(raw, b"\r\n") for name, raw in REQUEST_LINES.items()},
    **{name: Case(raw, b"\r\n\r\n") for name, raw in FIELDS.items()},
    **BODIES,
}
