"""llms.txt is served, and says what the contracts, the help and the documents say.

`test_examples.py` and `test_text.py` treat it as they do any document.
"""

import json
import re
import sys

import pytest
from flask.testing import FlaskClient

from cli.documents import FIXTURES
from tests.contract import STUB, V1
from tests.docs.documents import TEXTS, blocks_of
from tests.program import run

pytestmark = pytest.mark.process

TEXT = TEXTS["llms.txt"]
LINES = re.findall(r"^- `([A-Z]+) (/\S*)`: (.*)$", TEXT, re.MULTILINE)
ROWS = dict(re.findall(r"^\| `([\w-]+)` \| .* \| `(.*)` \|$", TEXT, re.MULTILINE))


def test_it_is_served_as_text_without_a_token(anonymous: FlaskClient) -> None:
    response = anonymous.get("/llms.txt")
    assert (response.status_code, response.data.decode()) == (200, TEXT)
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-store"


def test_it_lists_the_operations_and_the_routes_of_the_contracts() -> None:
    declared = [(method, path) for method, path, _ in (*V1.operations(), *STUB.operations())]
    declared.append(("GET", "/openapi.json"))
    assert sorted((method, path) for method, path, _ in LINES) == sorted(declared)


def test_each_operation_that_takes_a_body_has_one_which_is_accepted(stub: FlaskClient) -> None:
    bodies = {(method, path): text.split("`")[1] for method, path, text in LINES if "`" in text}
    operations = [*V1.operations(), *STUB.operations()]
    assert bodies.keys() == {
        (method, path) for method, path, operation in operations if "requestBody" in operation
    }
    for (method, path), body in bodies.items():
        target = path.replace("{id}", "dpl_1")
        assert stub.open(target, method=method, json=json.loads(body)).status_code < 300, path


def test_it_names_each_kind_of_finding() -> None:
    named = re.findall(r"is found: ([\w, -]+); repeatable", " ".join(run("--help").stdout.split()))
    of_probe = ["depends", "repeats", "hurries", "accepts", "waits"]
    assert [*ROWS] == [*named[0].split(", "), *of_probe]


def test_its_other_commands_start_the_program() -> None:
    start, around, _ = (text for kind, text in blocks_of("llms.txt") if kind == "sh")
    assert ("sh", start) in blocks_of("README.md")
    *words, last = around.split()
    assert last == "COMMAND"
    assert run(*words[1:], sys.executable, "-c", "exit(7)").status == 7


def test_it_lists_the_documents_of_the_program() -> None:
    listed = re.findall(r"^- `(\w+)`: ", TEXT, re.MULTILINE)
    names = [line.split()[0] for line in run("docs").stdout.splitlines()]
    assert listed == [name for name in names if name not in FIXTURES]
    assert re.findall(r"`(\w+)`", TEXT.splitlines()[-1]) == [*FIXTURES]
