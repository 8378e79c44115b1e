"""Varies a response of `/v1`: its headers, its status and its body."""

from urllib.parse import unquote, urlsplit

from flask import Request, Response

from ..contract import Contract, Operation
from ..ids import Ids
from .axes import Grease, in_order
from .bodies import Varied


def vary(
    grease: Grease,
    ids: Ids,
    response: Response,
    contract: Contract,
    operation: Operation | None,
    request: Request,
) -> tuple[str, ...]:
    """Vary a response of `/v1`, and return the axes along which it varies."""
    if not request.environ["PATH_INFO"].startswith("/v1/"):
        return ()
    part = contract.response(operation, response.status_code)
    if part is None or "content" not in part:
        return ()
    method = "GET" if request.method == "HEAD" else request.method
    varied = Varied(grease, ids, contract, (method, path_key(ids, request)))
    ((media_type, content),) = part["content"].items()
    declared = part.get("x-grease", ())
    varied.body(response, content["schema"], declared)
    if varied.apply("media-type", declared):
        response.headers["Content-Type"] = varied.media_type(media_type)
    if varied.apply("headers", declared):
        draws = varied.draws("headers")
        for _ in range(draws.below(3) + 1):
            response.headers[f"X-{draws.word().title()}"] = draws.word()
    if varied.apply("success-code", declared):
        response.status_code = 200
    applied = in_order(varied.applied)
    if applied:
        response.headers["Stub-Grease"] = f"seed={grease.seed}; axes={','.join(applied)}"
    return applied


def path_key(ids: Ids, request: Request) -> str:
    """The path of a request, decoded, with the keys of resources in place of their ids."""
    target, _, _ = request.environ["REQUEST_URI"].partition("?")
    return "/".join(ids.key(unquote(each)) for each in urlsplit(target).path.split("/"))
