"""The coverage of the run; that of a world is in the recorded table."""

from tests.conftest import control_client_of, counting_ids, make_stub
from tests.contract import V1
from tests.stub.conftest import verdict_of


def test_the_table_is_of_all_worlds() -> None:
    app = make_stub(new_id=counting_ids())
    assert verdict_of(app).format_table() == ""
    client = control_client_of(app)
    client.get("/v1/projects?page=1")
    other = control_client_of(app, "dev-token.w")
    other.get("/v1/projects")
    other.get("/v1/dev-token")
    of = client.get("/_stub/coverage").json["of"]
    first, *lines = verdict_of(app).format_table().splitlines()
    assert first == f"coverage: 1 of {of} responses met"
    assert lines[0].startswith("  listProjects   200 x2; not met: 400 401")
    assert lines[-2:] == [
        "unpromised: listProjects: query parameter page (x1, first: #1)",
        "violations: no operation: GET /v1/*** (x1, first: w #2)",
    ]


def test_the_table_shows_twenty_of_a_kind() -> None:
    client = control_client_of(make_stub())
    for number in range(22):
        client.get(f"/v1/projects?p{number}=1")
    *_, last_row, rest = verdict_of(client.application).format_table().splitlines()
    assert last_row.startswith("unpromised: listProjects: query parameter p19 ")
    assert rest == "unpromised: 2 more"


def test_the_contract_of_the_stub_has_the_operations_of_the_service_for_faults() -> None:
    client = control_client_of(make_stub())
    named = client.get("/_stub/openapi.json").json["components"]["schemas"]["OperationId"]["enum"]
    assert named == [operation["operationId"] for _, _, operation in V1.operations()]
    for name in named:
        sent = {"operation": name, "status": 503}
        assert client.post("/_stub/faults", json=sent).status_code == 201
