"""Services of other forms than openapi.json has, with values planted in all places."""

from base64 import b32encode, urlsafe_b64encode
from hashlib import sha256
from random import Random
from typing import Any
from uuid import UUID, uuid4

from tests.verify.conftest import TOKEN, Request, Response, Service
from tests.verify.differences import (
    ALL_ERRORS,
    has_type,
    on,
    on_deployment,
    on_errors,
    on_list,
    on_projects,
    put,
    without,
)

Row = tuple[Any, ...]
OK = ("list", "created", "deployment")
WORDS = ("amber", "cedar", "linen", "topaz")
# Of each shape of ids, the prefix, None if they are not imitated, and what makes one.
IDS: list[Row] = [
    ("p_", lambda kind, digest: f"{kind}_{digest.hex()[:16]}"),
    ("", lambda kind, digest: str(UUID(bytes=digest[:16]))),
    (None, lambda kind, digest: int.from_bytes(digest[:5], "big")),
    ("", lambda kind, digest: b32encode(digest).decode()[:26]),
    ("", lambda kind, digest: urlsafe_b64encode(digest).decode()[:21]),
    ("", lambda kind, digest: f"{WORDS[digest[0] % 4]}-{digest.hex()[:6]}"),
    ("p_live_", lambda kind, digest: f"{kind}_live_{digest.hex()[:24]}"),
    (None, lambda kind, digest: digest.hex() * 3),
]


def times(offset: str, fraction: str = "") -> Row:
    """A row of times; a `z` is one of lower case."""
    letter, case = ("t", "lower") if offset == "z" else ("T", "upper")
    edit = put(created_at=lambda time: time[:-1].replace("T", letter) + fraction + offset)
    form = {"offset": offset.upper(), "digits": len(fraction[1:]), "case": case}
    return form, on_projects(edit), on_deployment(edit)


def statuses(*run: str) -> Row:
    words = dict(zip(("queued", "building"), run, strict=False))
    form = None if " " in run[0] else {"run": [*run], "ended": run[-1]}
    return form, on_deployment(put(status=lambda each: words.get(each, run[-1])))


# By form, what the profile keeps, None if nothing, and the changes that make it.
FORMS: dict[str, list[Row]] = {
    "/times": [
        times("Z", ".123"), times("Z"), times("+05:30", ".000"), times("z", ".5"),
        times("Z", ".123456"), times("-00:00", ".123456789"),
    ],
    "/creation_status": [(each, on("created", status=each)) for each in (200, 201, 202)],
    "/list_order": [("oldest first",), ("newest first", on_list(lambda found: found[::-1]))],
    "/statuses": [
        statuses("queued", "building", "succeeded"), statuses("QUEUED", "BUILDING", "READY"),
        statuses("pending", "in_progress", "completed"), statuses("in progress", "all done"),
    ],
    "/headers": [
        ([],),
        (["Etag", "X-Ratelimit"], on(headers={"ETag": "s3cr3t", "X-RateLimit": "s3cr3t"})),
        (["X-Zone"], on(headers={"x-zone": "s3cr3t", "Upgrade": "s3cr3t", "X-" + "a" * 70: "1"})),
    ],
    "/media_types/json": [
        ("application/json",),
        *((each, has_type(each, *OK))
          for each in ("application/json;charset=UTF-8", "application/vnd.api+json; v=1.2")),
        (None, has_type("application/s3cr3t", *OK)),
    ],
    "/media_types/problem": [
        ("application/problem+json",), ("text/json", has_type("text/json", *ALL_ERRORS)),
    ],
    "/members/project": [
        ({"added": {}, "absent": []},),
        ({"added": {"labels": "array", "owner": "string"}, "absent": []},
         on_projects(put(owner="s3cr3t-owner", labels=["s3cr3t-label"]))),
        ({"added": {"a/b": "object", "size": "integer"}, "absent": []},
         on_projects(put(**{"a/b": {"s3cr3t": "s3cr3t"}, "size": 918273645}))),
    ],
    "/members/deployment": [
        ({"added": {}, "absent": []},),
        ({"added": {"region": "null"}, "absent": ["project_id"]},
         on_deployment(put(region=None)), on_deployment(without("project_id"))),
        ({"added": {"ok": "boolean"}, "absent": ["created_at"]},
         on_deployment(put(ok=True)), on_deployment(without("created_at"))),
    ],
    "an envelope": [
        (None,), (None, on(*OK, body=lambda body: {"data": body})),
        (None, on("list", body=put(next="s3cr3t-page"))),
        (None, on("list", body=lambda body: body["projects"])),
    ],
    "errors": [
        (None,), (None, on_errors(lambda _: {"errors": ["s3cr3t-message"]})),
        (None, on_errors(lambda _: {"error": {"message": "s3cr3t-message", "token": TOKEN}})),
    ],
}  # fmt: skip


def secrets(response: Response, request: Request, number: int) -> None:
    """Header fields that no profile has."""
    response.headers |= {"Set-Cookie": "s3cr3t-cookie", "X-Api-Key": "s3cr3t-key"}
    response.headers |= {f"X-{response.case.split()[-1]}": f"s3cr3t-{uuid4()}"}


def pick(name: str, rows: list[Row], number: int) -> Row:
    """A row for the service of this number: each comes before one comes again."""
    at, turn = number % len(rows), number // len(rows)
    return Random(f"{name} {turn}").sample(rows, len(rows))[at]


def planted(number: int) -> tuple[dict[str, Any], Service]:
    """The service of this number, and the forms that its profile has."""
    (prefix, shape), seed = pick("ids", IDS, number), Random(number).random()
    picked = {form: pick(form, rows, number) for form, rows in FORMS.items()}
    changes = [change for row in picked.values() for change in row[1:]]

    def new_id(kind: str, index: int) -> Any:
        return shape(kind, sha256(f"{kind} {index} {seed}".encode()).digest())

    forms = {form: kept for form, (kept, *_) in picked.items()}
    return {"ids": prefix, **forms}, Service(*changes, secrets, new_id=new_id)


def sent_by(service: Service) -> set[str]:
    """The texts and the numbers that a service has sent, forms such as `application/json` aside."""

    def values(part: Any) -> list[Any]:
        parts = [*part.values()] if isinstance(part, dict) else part
        return [x for each in parts for x in values(each)] if isinstance(parts, list) else [part]

    fields = [field for each in service.sent for field in each.headers.items()]
    headers = [value for name, value in fields if name not in ("Content-Type", "Cache-Control")]
    found = {str(value) for value in headers + values([each.body for each in service.sent])}
    return {each for each in found if len(each) > 4}
