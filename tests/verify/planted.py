"""Services of other forms than openapi.json has, with values planted in all places."""

import json
import re
from base64 import b32encode, urlsafe_b64encode
from hashlib import sha256
from random import Random
from typing import Any
from uuid import UUID

from tests.verify.conftest import TOKEN, Service
from tests.verify.differences import ALL_ERRORS, at, on, on_deployment, on_list, on_projects, put

Row = tuple[Any, ...]
OK = ("list", "created", "deployment")
# Of each shape of ids, the prefix, None if they are not imitated, and what makes one.
IDS: list[Row] = [
    ("p_", lambda kind, digest: f"{kind}_{digest.hex()[:16]}"),
    ("", lambda kind, digest: str(UUID(bytes=digest[:16]))),
    (None, lambda kind, digest: int.from_bytes(digest[:5], "big")),
    ("", lambda kind, digest: b32encode(digest).decode()[:26]),
    ("", lambda kind, digest: urlsafe_b64encode(digest).decode()[:21]),
    ("", lambda kind, digest: f"{('amber', 'cedar')[digest[0] % 2]}-{digest.hex()[:6]}"),
    ("p_live_", lambda kind, digest: f"{kind}_live_{digest.hex()[:24]}"),
    (None, lambda kind, digest: digest.hex() * 3),
]


def times(offset: str, fraction: str = "", letter: str = "T") -> Row:
    case = "upper" if letter == "T" else "lower"
    form = {"offset": offset.upper(), "digits": len(fraction[1:]), "case": case}
    return form, *at(lambda time: time[:-1].replace("T", letter) + fraction + offset)


def statuses(*run: str) -> Row:
    words = dict(zip(("queued", "building"), run, strict=False))
    form = {"run": [*run], "ended": run[-1]}
    return form, on_deployment(put(status=lambda each: words.get(each, run[-1])))


def labelled(label: str, *cases: str) -> Row:
    return None if "s3cr3t" in label else label, on(*cases, headers={"Content-Type": label})


# Header fields that no profile has.
SECRETS = on(headers={"Set-Cookie": "s3cr3t", "X-Api-Key": "s3cr3t"})
MORE = put(labels=["s3cr3t"], meta={"s3cr3t": "s3cr3t"}, size=918273645, no=None)
# By form, what the profile keeps, None if nothing, and the changes that make it.
FORMS: dict[str, list[Row]] = {
    "/times": [
        times("Z"), times("Z", ".123"), times("Z", ".123456"), times("z", ".5", "t"),
        times("+05:30", ".000"), times("-00:00", ".123456789"),
        *((form, on_projects(put(created_at=lambda at, end=end: at.replace("1T09:00:00Z", end))))
          for form, end in ((times("Z", ".5")[0], "1T09:00:00.5Z"), (None, "1T09:00:00-00:00"))),
    ],
    "/creation_status": [(each, on("created", status=each)) for each in (200, 201, 202)],
    "/list_order": [
        ("oldest first",), (None, on_list(lambda found: [*found[1:], found[0]])),
        ("newest first", on_list(lambda found: found[::-1])),
    ],
    "/statuses": [
        statuses("queued", "building", "succeeded"), statuses("QUEUED", "BUILDING", "READY"),
        statuses("pending", "in_progress", "completed"), statuses("in progress", "all done"),
    ],
    "/headers": [
        ([],), (["Etag", "X-Limit"], on(headers={"ETag": "s3cr3t", "x-limit": "s3cr3t"})),
        (["X-Get", "X-Zone"],
         on(headers={"x-zone": "s3cr3t", "Upgrade": "s3cr3t", "X" * 70: "s3cr3t"}),
         on("list", headers={"X-List": "s3cr3t"}),
         on("list", "deployment", headers={"X-Get": "s3cr3t"})),
    ],
    "/media_types/json": [
        ("application/json",), labelled("application/json;charset=UTF-8", *OK),
        ("application/json", on("created", headers={"Content-Type": None})),
        labelled("application/vnd.api+json; v=1.2", *OK), labelled("application/s3cr3t", *OK),
    ],
    "/media_types/problem": [("application/problem+json",), labelled("text/json", *ALL_ERRORS)],
    "/members/project": [({"added": {}, "absent": []},), (
        {"added": {"attributes": "object", "size": "integer"}, "absent": []},
        on_projects(lambda x: {"id": x.pop("id"), "attributes": {**x, "size": 5}})), (
        {"added": {"labels": "array", "meta": "object", "no": "null", "size": "number"},
         "absent": []},
        on_projects(MORE), on_list(lambda found: [{**found[0], "size": 0.5, "own": 1}, *found[1:]]),
    )],
    "/members/deployment": [({"added": {}, "absent": []},), (
        {"added": {"in": "object", "owner": "object"}, "absent": ["project_id", "created_at"]},
        on_deployment(lambda x: {"id": x["id"], "status": x["status"],
                                 "in": {"project_id": 1}, "owner": x}),
    )],
    "bodies": [
        (None, on("method", status=200, body=lambda _: {"allowed": "s3cr3t"})),
        (None, on("list", body=lambda body: {"next": [{"to": "s3cr3t"}], "all": body["projects"]})),
        (None, on(*OK, body=lambda b: {"status": "ok", "x": {"id": 1, "name": ""}, "y": {"z": b}})),
        (None, on("list", body=lambda body: body["projects"])),
        (None, on("created", body=lambda _: {"id": "s3c", "created_at": "2026-01-01T09:00:00z"})),
        (None, on(*ALL_ERRORS, body=lambda _: {"errors": ["s3cr3t-error"], "token": TOKEN})),
        (None, on("anonymous", headers={"Content-Type": "text/html"}, raw=b"s3cr3t-login")),
    ],
}  # fmt: skip


def planted(number: int) -> tuple[dict[str, Any], Service]:
    """The ids, times and statuses of the service of this number, and the service: each row comes
    before one comes again.
    """
    picked = {}
    for form, rows in (("ids", IDS), *FORMS.items()):
        turn, index = divmod(number, len(rows))
        picked[form] = Random(f"{form} {turn}").sample(rows, len(rows))[index]
    (_, shape), *others = picked.values()

    def new_id(kind: str, index: int) -> Any:
        return shape(kind, sha256(f"{kind} {index} {number}".encode()).digest())

    changes = [change for row in others for change in row[1:]]
    kept = {form: picked[form][0] for form in ("ids", "/times", "/statuses")}
    return kept, Service(*changes, SECRETS, new_id=new_id)


def sent_by(service: Service) -> set[str]:
    """The texts and numbers that a service has sent, but for words of four letters and less."""
    bodies = "".join(json.dumps(each.body) for each in service.sent)
    fields = [field for each in service.sent for field in each.headers.items()]
    headers = [value for name, value in fields if name not in ("Content-Type", "Cache-Control")]
    return {*re.findall(r'(?<=")[^"]{5,}(?="(?!:))|\d{5,}', bodies), *map(str, headers)}
