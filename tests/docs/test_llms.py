"""llms.txt says what the contracts say.

`test_examples.py` and `test_text.py` treat it as they do any document.
"""

import json
import re

from flask.testing import FlaskClient

from tests.contract import STUB, V1
from tests.docs.documents import TEXTS

TEXT = TEXTS["llms.txt"]
LINES = re.findall(r"^- `([A-Z]+) (/\S*)`: (.*)$", TEXT, re.MULTILINE)


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
