"""Reads requests with the server's parser, in this process."""

from collections.abc import Iterable
from functools import cache

from server import ServerOptions
from server.parser import Parser
from server.problems import Rejection
from server.settings import Settings, make_settings
from tests.raw import SECRET


@cache
def settings(host: str) -> Settings:
    """Those of a server that listens on this name of a loopback address."""
    return make_settings(ServerOptions(), 100, host)


def parse(pieces: Iterable[bytes], host: str = "127.0.0.1") -> list[Parser]:
    """The requests in what arrives in these pieces, up to the first that is rejected."""
    requests = [Parser(settings(host))]
    for piece in pieces:
        while piece:
            if requests[-1].completed:
                requests.append(Parser(settings(host)))
            used = requests[-1].received(piece)
            if requests[-1].error:
                return requests
            piece = piece[used:]
    return requests


def assert_rejected(request: Parser, status: int = 400, code: str = "malformed_request") -> None:
    """The request is rejected with this error, which repeats no secret."""
    assert isinstance(request.error, Rejection), "it was not rejected"
    assert (request.error.status, request.error.code) == (status, code)
    assert request.completed
    assert not request.expect_continue
    assert SECRET.encode() not in request.error.body
