"""Varies a response of `/v1`: its headers, its status and its body."""

from urllib.parse import unquote

from flask import Request, Response

from web.routing import OPERATIONS

from ..contract import Operation
from ..ids import Ids
from .axes import Grease, in_order
from .bodies import Varied
from .draws import draw_word
from .parts import Parts


def vary(
    grease: Grease,
    ids: Ids,
    response: Response,
    parts: Parts,
    operation: Operation | None,
    request: Request,
) -> tuple[str, ...]:
    """Vary a response of `/v1`, count its parts, and return the axes along which it varies."""
    if not request.environ["PATH_INFO"].startswith(OPERATIONS):
        return ()
    status = response.status_code
    declaration = parts.contract.response(operation, status)
    if declaration is None or "content" not in declaration:
        return ()
    method = "GET" if request.method == "HEAD" else request.method
    is_declared = operation and str(status) in operation.responses
    part = f"{operation.id} {status}" if operation and is_declared else str(status)
    varied = Varied(grease, ids, parts, (method, path_key(ids, request)))
    ((media_type, content),) = declaration["content"].items()
    declared = declaration.get("x-grease", ())
    varied.body(response, content["schema"], declared, part)
    if varied.apply("media-type", declared, part):
        response.headers["Content-Type"] = varied.media_type(media_type)
    if varied.apply("headers", declared, part):
        source = varied.draws("headers")
        for _ in range(source.randint(1, 3)):
            response.headers[f"X-{draw_word(source).title()}"] = draw_word(source)
    if status != 200 and varied.apply("success-code", declared, part):
        response.status_code = 200
    parts.count(varied.applied)
    applied = in_order(axis for axis, _ in varied.applied)
    if applied and parts.are_announced:
        response.headers["Stub-Grease"] = f"seed={grease.seed}; axes={','.join(applied)}"
    return applied


def path_key(ids: Ids, request: Request) -> str:
    """The path of a request, decoded, with the keys of resources in place of their ids."""
    # Of an encoded path, request.path has `%2F` and `%25`; of another one, no percent sign.
    return "/".join(ids.key(unquote(each)) for each in request.path.split("/"))
