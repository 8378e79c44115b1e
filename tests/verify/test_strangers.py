"""The names, the ids and the secrets of others are in no profile and in no output."""

import json
from typing import Any

from profiles.profile import make_profile
from tests.verify.conftest import Response, Service, judged
from verify.report import describe_result
from verify.service_log import ServiceExchange

IDS = {"p": "prj_{}7c4f9a2e", "d": "dpl_{}0b1d8e6f"}
NEIGHBOUR = {"id": IDS["p"].format(2), "name": "sample-1", "build": IDS["d"].format(2)}
OTHERS = {
    *NEIGHBOUR.values(), IDS["d"].format(9), "ann@acme.example", "T0/B1/x9", "s3cr3t-of-ann",
}  # fmt: skip


def plant(response: Response, request: ServiceExchange, number: int) -> None:
    """Plant what is of others in a response: around the records, in them, and in a field."""
    planted: dict[str, Any] = {
        "related": [NEIGHBOUR],
        "builds": {NEIGHBOUR["name"]: NEIGHBOUR["build"]},
        "previous": IDS["d"].format(9),
        "hint": f"moved from {NEIGHBOUR['name']} by ann@acme.example",
        "hook": "https://hooks.example/T0/B1/x9",
        "creds": {"value": "s3cr3t-of-ann"},
    }
    response.body["planted"] = planted
    response.headers["X-Before"] = f"{NEIGHBOUR['name']},{NEIGHBOUR['build']}"


def test_what_is_of_others_is_in_no_profile_and_in_no_output() -> None:
    service = Service(plant, new_id=lambda kind, number, name: IDS[kind].format(number))
    result = judged(service, "write", saves=True)
    assert result.inferred
    assert result.inferred.document.keys() >= {"list", "create", "deployment"}
    texts = [json.dumps(result.inferred.document), "\n".join(result.inferred.notes)]
    texts.append("\n".join(describe_result(result)))
    found = [(other, at) for at, text in enumerate(texts) for other in OTHERS if other in text]
    assert found == []


def test_what_was_left_out_of_an_error_is_no_drift() -> None:
    def make_service() -> Service:
        return Service(plant, new_id=lambda kind, number, name: IDS[kind].format(number))

    result = judged(make_service(), "write", saves=True)
    assert result.inferred
    like = make_profile(result.inferred.document)
    assert judged(make_service(), "write", like).drifted == []


def test_a_drift_shows_nothing_of_others() -> None:
    def name_other(response: Response, request: ServiceExchange, number: int) -> None:
        response.body["region"] = region

    region = "fra"
    result = judged(Service(name_other, new_id=make_id), "write", saves=True)
    assert result.inferred
    like = make_profile(result.inferred.document)
    region = NEIGHBOUR["name"]
    drifted = judged(Service(name_other, new_id=make_id), "write", like).drifted
    assert drifted
    assert [check for check in drifted if region in check.observed] == []


def make_id(kind: str, number: int, name: str) -> str:
    return IDS[kind].format(number)
