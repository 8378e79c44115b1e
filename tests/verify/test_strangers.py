"""The names, the ids and the secrets of others are in no profile and in no output."""

import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from profiles.profile import make_profile
from tests.verify.conftest import Change, Response, Service, judged, learn
from tests.verify.differences import on, on_deployment, on_list, on_projects, put
from verify.options import VerifyOptions
from verify.report import build_report, describe_result
from verify.seen.guesses import is_left_out
from verify.seen.service_log import ServiceExchange

START = datetime(2026, 11, 25, tzinfo=UTC)
IDS = {"p": "prj_{}7c4f9a2e", "d": "dpl_{}0b1d8e6f"}
NEIGHBOUR = {"id": IDS["p"].format(2), "name": "sample-1", "build": IDS["d"].format(2)}
UNLISTED: dict[str, Any] = {"id": IDS["p"].format(7), "name": "payroll", "alias": ["wages"]}
SHORT = {"id": IDS["p"].format(8), "name": "cart"}
OTHERS: set[str] = {
    *NEIGHBOUR.values(), UNLISTED["id"], "payroll", "wages", *SHORT.values(), IDS["d"].format(9),
    "ann@acme.example", "Ann Lee", "T0/B1/x9", "s3cr3t-of-ann", "old-build", "ann-lee", "Ann_Lee",
}  # fmt: skip


def plant(response: Response, request: ServiceExchange, number: int) -> None:
    """Plant what is of others in a response: around the records, in them, and in a field."""
    planted: dict[str, Any] = {
        "related": [NEIGHBOUR, UNLISTED, SHORT],
        "note": "moved from cart today",
        "limits": {"cart": 1},
        "builds": {NEIGHBOUR["name"]: NEIGHBOUR["build"]},
        "older": {NEIGHBOUR["id"]: "old-build"},
        "owner": {"email": "ann@acme.example", "display_name": "Ann Lee"},
        "previous": IDS["d"].format(9),
        "hint": f"moved from {NEIGHBOUR['name']} by ann@acme.example",
        "hook": "https://hooks.example/T0/B1/x9",
        "pages": ["/people/ann-lee", "Ann_Lee"],
        "creds": {"value": "s3cr3t-of-ann"},
        "braced": f"no project {{{NEIGHBOUR['name']}}}",
        "lines": f"Projects:\n{NEIGHBOUR['name']}",
        "from": "Ann Lee <ann@acme.example>",
        "version": f"{NEIGHBOUR['name']}@1.2.3",
        "paging": {NEIGHBOUR["name"]: {"has_more": True}, "all": {"has_more": True}},
    }
    response.body["planted"] = planted
    response.headers["Content-Type"] = f"application/json; of={NEIGHBOUR['name']}"
    response.headers[f"x-{NEIGHBOUR['name']}-builds"] = "5"
    response.headers["X-Before"] = f"{NEIGHBOUR['name']},{NEIGHBOUR['build']}"
    response.headers["Content-Range"] = f"name {UNLISTED['name']}..{NEIGHBOUR['name']}"


def make_id(kind: str, number: int, name: str) -> str:
    return IDS[kind].format(number)


def assert_nothing_of_others(*texts: str) -> None:
    for text in texts:
        assert [other for other in OTHERS if other in text] == []


def test_what_is_of_others_is_in_no_profile_and_in_no_output() -> None:
    result = judged(Service(plant, new_id=make_id), "write", saves=True)
    assert result.inferred
    assert result.inferred.document.keys() >= {"list", "create", "deployment"}
    texts = [json.dumps(result.inferred.document), "\n".join(result.inferred.notes)]
    assert_nothing_of_others(*texts, "\n".join(describe_result(result)))


UUID = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"
CAFE = "Café R&D Nord"
SPELLINGS = {
    CAFE: (
        quote(quote(CAFE)),
        CAFE.replace(" ", "+"),
        json.dumps({"name": CAFE.upper()}),
        "caf\u00e9-r-d_nord",
        "https://CaféRDNord.example",
        "Café R&amp;D Nord",
        CAFE.encode().decode("latin-1"),
    ),
    'say "quux"': (json.dumps({"name": 'say "quux"'}), "say-quux"),
    "Müller & Söhne Shop": (json.dumps({"name": "Müller & Söhne Shop"}), "m\u00fcller-söhne-shop"),
    "hrxq": ("moved from hrxq today", "hrxq_prod", "https://hrxq.example", "Is it 'HRXQ'?"),
    "4711": ("moved from 4711 today", "#4711"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_each_spelling_of_a_name_is_found(name: str) -> None:
    for text in SPELLINGS[name]:
        service = Service(rename_first(name), on(body=put(note=text)), new_id=make_id)
        result = judged(service, "write", saves=True)
        assert result.inferred
        assert is_left_out(result.inferred.document["deployment"]["body"]["note"])
        shown = result.strangers.mask(json.dumps(text))
        assert "***" in shown
        assert not any(word in shown for word in ("ller", "hne", "afé", "quux"))


def test_a_name_that_is_a_word_of_the_contract_hides_no_sentence() -> None:
    text = "No project has this name."
    service = Service(rename_first("project"), on(body=put(note=text)), new_id=make_id)
    result = judged(service, "write", saves=True)
    assert result.inferred
    assert result.inferred.document["errors"]["not_found"]["body"]["note"] == text
    assert result.strangers.mask(text) == text


def test_a_member_with_the_name_of_a_project_is_left_out_but_no_plain_word() -> None:
    for name, is_kept in (("PayRollQ", False), ("payroll_worker", False), ("limits", True)):
        limits = on_deployment(put(of={name: 3, "total": 4}))
        body = learn(Service(rename_first(name), limits, new_id=make_id))["deployment"]["body"]
        assert (name in body["of"]) == is_kept


def test_a_short_name_hides_no_constant() -> None:
    more = on_deployment(put(kind="web_service", apiVersion="v2"))
    fields = on("deployment", headers={"X-Web-Version": "2"})
    deployment = learn(Service(rename_first("web"), more, fields, new_id=make_id))["deployment"]
    assert deployment["body"].items() >= {"kind": "web_service", "apiVersion": "v2"}.items()
    assert deployment["headers"]["X-Web-Version"] == "2"


def rename_first(name: str) -> Change:
    """Change the name of the first project that is listed."""
    return on_list(lambda projects: [put(name=name)(projects[0]), *projects[1:]])


def test_a_read_shows_nothing_of_others() -> None:
    def plant_deeper(response: Response, request: ServiceExchange, number: int) -> None:
        plant(response, request, number)
        response.headers["Content-Type"] = f"application/x-{NEIGHBOUR['name']}"

    result = judged(Service(plant_deeper, new_id=make_id))
    report = build_report(result, VerifyOptions(), START, result.findings)
    assert_nothing_of_others(json.dumps(report), "\n".join(describe_result(result)))


def test_a_list_that_is_a_map_shows_no_key() -> None:
    def name_keys(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "list":
            projects = response.body["projects"]
            response.body = {each.pop("name"): {**each, "tags": []} for each in projects}

    result = judged(Service(name_keys, new_id=make_id), "write", saves=True)
    text = "\n".join([*describe_result(result), *(each.line for each in result.findings)])
    assert "/***/tags" in text
    assert [name for name in ("sample-1", "sample-2", IDS["p"].format(1)) if name in text] == []


def test_a_place_shows_no_name_of_others() -> None:
    def nest(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "list":
            projects = response.body["projects"]
            response.body = {NEIGHBOUR["name"]: "gone" if number else projects}

    result = judged(Service(nest, new_id=make_id), "write")
    lines = [*describe_result(result), *(each.line for each in result.findings)]
    assert any("the list at /***" in line for line in lines)
    assert "unseen: list: no array is at /*** any more" in lines
    assert NEIGHBOUR["name"] not in "\n".join(lines)


def test_an_array_below_a_name_of_a_project_is_in_no_profile() -> None:
    def nest(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "list":
            projects = response.body["projects"]
            response.body = {each["name"]: {"items": [each]} for each in projects}

    result = judged(Service(nest, new_id=make_id), "write", saves=True)
    assert result.inferred
    assert "list" not in result.inferred.document
    reason = "its array is in a map by the names of projects"
    assert f"/list is left out: {reason}" in result.inferred.notes


def test_what_all_projects_share_is_of_nobody() -> None:
    """So is the code of an error with a trace id, a stage that the run reached, and an address."""
    stack = {"id": UUID, "name": "linux-24"}
    more = on_projects(lambda body: {**body, "stack": stack, "git": "git@git.example.com:a/b.git"})
    staged = on_list(lambda projects: [put(stage={"name": "deploy"})(projects[0]), *projects[1:]])
    reached = on_deployment(put(stage={"name": "deploy"}))
    traced = on("no deployment", body=lambda _: {"id": "not_found", "trace": UUID})
    document = learn(Service(more, staged, reached, traced, new_id=lambda *_: str(uuid4())))
    item = document["record"]
    assert item["stack"]["name"] == "linux-24"
    assert document["deployment"]["body"]["stage"]["name"] == "deploy"
    assert item["git"] == "git@git.example.com:a/b.git"
    assert document["errors"]["deployment_not_found"]["body"]["id"] == "not_found"


def test_a_made_up_id_replaces_that_of_others() -> None:
    """It is known by its form alone: no list has it, and it stands in a record of our own."""
    relate = on_deployment(put(parent=UNLISTED["id"]))
    parent = learn(Service(relate, new_id=make_id))["deployment"]["body"]["parent"]
    assert re.fullmatch("prj_[0-9a-f]{9}", parent)
    assert parent != UNLISTED["id"]


def test_a_random_text_is_made_up_again_and_a_word_with_digits_stays() -> None:
    """It may be a secret, or an id of others: nothing in the log tells."""
    odd = ("7f3kq2xz9a", "https://x.example/login/zpuf482rf5f", UUID, "ref=6hwoco94w1k")
    plain = (
        "us-east-1",
        "arm64",
        "debian-12",
        "node22",
        "20261125T203808Z",
        "2026-11-25",
        "apps/v1alpha1",
    )
    for text in odd + plain:
        change = on_deployment(put(note=text))
        body = learn(Service(change))["deployment"]["body"]
        assert (body["note"] == text) == (text in plain), text
        assert len(body["note"]) == len(text)
        assert learn(Service(change))["deployment"]["body"]["note"] == body["note"]


def test_a_request_keeps_its_constants_and_a_version_stays() -> None:
    machine = on_projects(put(machineType="e2standard4", arch="arm64"))
    other = on_list(lambda projects: [put(arch="amd64")(projects[0]), *projects[1:]])
    request = {"name": "{project.name}", "region_id": UUID}
    document = learn(Service(machine, other), request)
    assert document["create"]["request"] == request
    constants = {"machineType": "e2standard4", "arch": "arm64"}
    assert document["record"].items() >= constants.items()


def test_a_field_with_the_name_of_a_secret_is_masked_in_an_output() -> None:
    fields = on("deployment", headers={"X-Deploy-Key": "some words"}, body=put(created_at=5))
    text = "\n".join(describe_result(judged(Service(fields), "write")))
    assert "< X-Deploy-Key: ***" in text
    assert "some words" not in text


def test_an_output_shows_no_random_text_but_the_ids_of_the_run() -> None:
    own_ids = {"p": "7f3kq2xz9{}a", "d": "9w2zr5td1{}k"}
    service = Service(new_id=lambda kind, number, name: own_ids[kind].format(number))
    strangers = judged(service, "write").strangers
    assert strangers.mask("GET /v1/deployments/9w2zr5td14k, zpuf482rf5f") == (
        "GET /v1/deployments/9w2zr5td14k, ***"
    )
    assert strangers.mask("stub-verify-5d8b4fe2") == "stub-verify-5d8b4fe2"


def test_a_status_that_is_a_name_of_others_is_not_shown() -> None:
    like = make_profile(learn(Service(new_id=make_id)))
    change = on_deployment(put(status=NEIGHBOUR["name"]))
    findings = judged(Service(change, new_id=make_id), "write", like).findings
    lines = [each.line for each in findings]
    assert "unseen: deployment: the status succeeded: the deployment stayed ***" in lines
    assert NEIGHBOUR["name"] not in "".join(lines)


def test_what_was_left_out_of_an_error_is_no_drift() -> None:
    like = make_profile(learn(Service(plant, new_id=make_id)))
    assert judged(Service(plant, new_id=make_id), "write", like).drifted == []


def test_a_drift_shows_nothing_of_others() -> None:
    before, after = (on(body=put(region=each)) for each in ("fra", NEIGHBOUR["name"]))
    like = make_profile(learn(Service(before, new_id=make_id)))
    drifted = judged(Service(after, new_id=make_id), "write", like).drifted
    assert drifted
    assert [check for check in drifted if NEIGHBOUR["name"] in check.observed] == []
