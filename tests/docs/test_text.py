"""The documents' links, tables and names are right."""

import json
import re

from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import ROOT
from tests.contract import STUB, V1
from tests.docs.documents import COMMANDS, TEXTS

PATH = r"(?<![\w/.])(?:(?:bench|tests|tools|docs|\.ci)/[\w./]*|requirements[\w-]*\.txt|app\.py)"
README, CHOICES = TEXTS["README.md"], TEXTS["docs/choices.md"]


def anchors_of(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_every_command_names_files_that_exist() -> None:
    for line in "\n".join(COMMANDS).splitlines():
        for path in re.findall(PATH, line):
            assert (ROOT / path).exists(), line


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


def test_the_table_of_errors_has_every_code_of_the_contract() -> None:
    codes = set(re.findall(r"^\| \d{3} \| `(\w+)` \|", CHOICES, re.MULTILINE))
    assert codes >= set(re.findall(r'"code": "(\w+)"', json.dumps(V1.document)))


def test_the_list_of_open_routes_is_complete(app: Flask, anonymous: FlaskClient) -> None:
    (listed,) = re.findall(r"Every request needs a token, except (.*?)\.\n", CHOICES, re.DOTALL)
    declared = {path for _, path, each in STUB.operations() if each.get("security") == []}
    named = set(re.findall(r"`(/.*?)`", listed))
    assert named == {*declared, "/openapi.json"}
    for rule in app.url_map.iter_rules():
        response = anonymous.get(rule.rule.replace("<file>", "console.js"))
        is_open = response.status_code == 200
        assert is_open == (rule.rule.replace("<file>", "{file}") in named), rule
