"""The documents' links, tables, options and names are right."""

import json
import re
from collections import Counter

from flask import Flask
from flask.testing import FlaskClient

from cli.main import OTHER_VARIABLES
from tests.conftest import ROOT
from tests.contract import STUB, V1
from tests.docs.documents import TEXTS
from tests.program import run

README, CHOICES = TEXTS["README.md"], TEXTS["docs/choices.md"]


def anchors_of(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_every_link_leads_to_a_file_and_a_heading_that_exist() -> None:
    for name, text in TEXTS.items():
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            target, _, anchor = link.partition("#")
            path = (ROOT / name).parent / target if target else ROOT / name
            assert path.exists(), f"{name}: {link}"
            assert not anchor or anchor in anchors_of(path.read_text("utf-8")), f"{name}: {link}"


def test_the_endpoint_table_has_the_statuses_of_the_contract() -> None:
    rows = re.findall(r"^\| `([A-Z]+) (/v1/\S+)` \|.*\| ([\d, ]+) \|$", README, re.MULTILINE)
    assert {(method, path) for method, path, _ in rows} == {
        (method, path) for method, path, _ in V1.operations()
    }
    for method, path, statuses in rows:
        declared = set(V1.document["paths"][path][method.lower()]["responses"])
        assert set(statuses.split(", ")) <= declared
        # The statuses that any request may get are in the contract only.
        assert declared - set(statuses.split(", ")) <= {"400", "413", "431", "500", "503"}


def test_the_table_of_errors_has_every_code_that_several_operations_may_have() -> None:
    codes = set(re.findall(r"^\| \d{3} \| `(\w+)` \|", CHOICES, re.MULTILINE))
    counts = Counter[str]()
    for _, _, operation in V1.operations():
        responses = [V1.resolve(each) for each in operation["responses"].values()]
        counts.update({*re.findall(r'"code": "(\w+)"', json.dumps(responses))})
    assert codes >= {code for code, count in counts.items() if count > 1}


def test_the_list_of_open_routes_is_complete(app: Flask, anonymous: FlaskClient) -> None:
    (listed,) = re.findall(r"Every request needs a token, except (.*?)\.\n", CHOICES, re.DOTALL)
    declared = {path for _, path, each in STUB.operations() if each.get("security") == []}
    named = set(re.findall(r"`(/.*?)`", listed))
    assert named == {*declared, "/openapi.json"}
    for rule in app.url_map.iter_rules():
        response = anonymous.get(rule.rule.replace("<file>", "console.js"))
        is_open = response.status_code == 200
        assert is_open == (rule.rule.replace("<file>", "{file}") in named), rule


def test_every_option_and_variable_exists() -> None:
    shown = "".join(run(*words, "--help").stdout for words in ((), ("verify",), ("docs",)))
    options = {*re.findall(r"--[a-z-]+", shown)}
    variables = {f"STUB_{each[2:].replace('-', '_').upper()}" for each in options}
    variables |= {*OTHER_VARIABLES}
    other_tools = r"^```console\n.*?^```$"  # see tests/clients
    # What has options of its own: commands, servers, uvx and pytest.
    others = r"[ `]-- [\w.].*|-m (?:pytest|tests\.replayed) .*|uvx --from|"
    others += r"bin/(?:flask|waitress-serve) .*"
    for name, text in TEXTS.items():
        if name == "CHANGELOG.md":  # which names those of other versions
            continue
        assert {*re.findall(r"STUB_[A-Z_]+", text)} <= variables, name
        text = re.sub(other_tools, "", text, flags=re.DOTALL | re.MULTILINE)
        text = re.sub(others, "", text)
        assert {*re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)} <= options, name


def test_the_guide_for_agents_lists_the_routes_of_the_contracts_with_bodies_that_are_accepted(
    stub: FlaskClient,
) -> None:
    lines = re.findall(r"^- `([A-Z]+) (/\S*)`: (.*)$", TEXTS["llms.txt"], re.MULTILINE)
    bodies = {(method, path): text.split("`")[1] for method, path, text in lines if "`" in text}
    # Another operation than those of the interface is in the contract, which is listed.
    of_interface = [each for each in V1.operations() if "fixed" in each[2]["x-origin"]]
    operations = [*of_interface, *STUB.operations()]
    declared = [(method, path) for method, path, _ in operations]
    assert sorted((method, path) for method, path, _ in lines) == sorted(
        [*declared, ("GET", "/openapi.json")]
    )
    takes_body = {(method, path) for method, path, each in operations if "requestBody" in each}
    assert bodies.keys() == takes_body
    for (method, path), body in bodies.items():
        target = path.replace("{id}", "dpl_1")
        assert stub.open(target, method=method, json=json.loads(body)).status_code < 300, path
