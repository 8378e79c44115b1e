"""What is measured: the service, the floors, and the peers that peers.sh installs."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from measure import BENCH, PATHS, Candidate, fetch, nothing, projects

ROOT = BENCH.parent
PEERS = BENCH / ".peers"
MODULES = PEERS / "node_modules"
PYTHON = PEERS / "venv" / "bin" / "python"
CREATED = {"id", "name"}
OURS = "this stand-in"
FLOORS = (("wsgi", "stock"), ("wsgi", "ours"), ("flask", "stock"), ("flask", "ours"))

Command = list[str | Path]
Answers = dict[str, bytes]
"""What the service answers to each operation: what the floors and the peers answer, too."""


def seed(count: int) -> bytes:
    """A seed document of so many projects, and the deployment that is asked for."""
    deployment = {"id": "dpl_succeeded", "status": "succeeded"}
    names = [{"name": f"project {number}"} for number in range(count)]
    return json.dumps({"projects": names, "deployments": [deployment]}).encode()


def refill(url: str, count: int) -> None:
    """Put so many projects in place of what the service holds."""
    fetch(f"{url}/_stub/reset", seed(count))


def is_right(operation: str, body: bytes, at_least: int = 0) -> bool:
    """Whether it is the JSON that the operation has, with `at_least` so many projects listed."""
    try:
        document = json.loads(body)
        if operation == "deployment":
            return (document["id"], document["status"]) == ("dpl_succeeded", "succeeded")
        if operation == "create":
            return bool(document.keys() >= CREATED)
        listed = projects(body)
        return len(listed) >= at_least and all(each.keys() >= CREATED for each in listed)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def is_same(expected: Answers, operation: str, body: bytes) -> bool:
    """Whether it has the records of the service's own answer, and is right otherwise."""
    if not is_right(operation, body):
        return False
    if operation == "deployment":
        return bool(json.loads(body) == json.loads(expected[operation]))
    listed = projects(expected["list"])
    return operation == "create" or projects(body)[: len(listed)] == listed


def service(*options: str, stored: int | None = None, quiet: bool = True) -> Candidate:
    """The service with the sample, or with so many projects `stored`."""

    def start(port: int, folder: Path) -> Command:
        command: Command = [sys.executable, ROOT / "app.py", "--port", str(port), *options]
        if quiet:
            command.append("--quiet")
        if stored is not None:
            (folder / "seed.json").write_bytes(seed(stored))
            command += ["--seed", "seed.json"]
        return command

    right = partial(is_right, at_least=stored or 0)
    renew = nothing if stored is None else partial(refill, count=stored)
    return Candidate(OURS, start, right, keeps=True, renew=renew)


def floor(kind: str, setup: str, body: bytes) -> Candidate:
    """An empty callable that answers `body`; see floors.py."""

    def start(port: int, folder: Path) -> Command:
        (folder / "body").write_bytes(body)
        return [sys.executable, BENCH / "floors.py", kind, setup, str(port), "body"]

    what = {"wsgi": "empty WSGI callable", "flask": "empty Flask view"}[kind]
    where = {"stock": "stock waitress", "ours": "our waitress set-up"}[setup]
    return Candidate(f"{what}, {where}", start, lambda _, answer: answer == body)


def floors(body: bytes) -> list[Candidate]:
    """All four; the first is the one that the peers' table counts from."""
    return [floor(kind, setup, body) for kind, setup in FLOORS]


def write(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document), "utf-8")
    return path


def database(folder: Path, answers: Answers) -> Path:
    """The same records as a file: json-server's form, which the small apps read as well."""
    deployments = [json.loads(answers["deployment"])]
    records = {"projects": projects(answers["list"]), "deployments": deployments}
    return write(folder / "db.json", records)


def express(answers: Answers, port: int, folder: Path) -> Command:
    return ["node", BENCH / "peers" / "express.js", str(port), database(folder, answers)]


def fastapi(answers: Answers, port: int, folder: Path) -> Command:
    return [PYTHON, BENCH / "peers" / "fastapi_app.py", str(port), database(folder, answers)]


def json_server(answers: Answers, port: int, folder: Path) -> Command:
    routes = write(folder / "routes.json", {"/v1/*": "/$1"})
    options = ["--quiet", "--no-gzip", "--host", "127.0.0.1", "--port", str(port)]
    program = MODULES / ".bin" / "json-server"
    return [program, *options, "--routes", routes, database(folder, answers)]


def prism(answers: Answers, port: int, folder: Path) -> Command:
    contract = json.loads((ROOT / "openapi.json").read_text("utf-8"))
    for operation, path in (("list", PATHS["list"]), ("deployment", "/v1/deployments/{id}")):
        answer = contract["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
        answer["examples"] = {"only": {"value": json.loads(answers[operation])}}
    document = write(folder / "openapi.json", contract)
    options = ["--verboseLevel", "silent", "--port", str(port)]
    return [MODULES / ".bin" / "prism", "mock", *options, document]


def operations(answers: Answers) -> Iterator[tuple[str, str, int, str]]:
    """Method, path, status and body, for the peers that are told answers one by one."""
    for operation, body in answers.items():
        method, status = ("POST", 201) if operation == "create" else ("GET", 200)
        yield method, PATHS[operation], status, body.decode()


def mockoon(answers: Answers, port: int, folder: Path) -> Command:
    rule = {"target": "header", "modifier": "Authorization", "value": "Bearer dev-token"}
    content = [{"key": "Content-Type", "value": "application/json"}]
    routes = [
        {
            "uuid": f"route-{number}",
            "type": "http",
            "method": method.lower(),
            "endpoint": path.lstrip("/"),
            "responses": [
                {
                    "statusCode": status,
                    "headers": content,
                    "body": body,
                    "disableTemplating": True,
                    "rules": [{**rule, "operator": "equals"}],
                },
                {"statusCode": 401, "default": True},
            ],
        }
        for number, (method, path, status, body) in enumerate(operations(answers))
    ]
    order = [{"type": "route", "uuid": route["uuid"]} for route in routes]
    environment = {"name": "bench", "port": port, "routes": routes, "rootChildren": order}
    options = ["--repair", "--disable-log-to-file", "--disable-admin-api", "--data"]
    data = write(folder / "mockoon.json", environment)
    return [MODULES / ".bin" / "mockoon-cli", "start", *options, data]


def wiremock(answers: Answers, port: int, folder: Path) -> Command:
    (folder / "mappings").mkdir()
    token = {"Authorization": {"equalTo": "Bearer dev-token"}}
    content = {"Content-Type": "application/json"}
    mappings = [
        {
            "request": {"method": method, "urlPath": path, "headers": token},
            "response": {"status": status, "headers": content, "body": body},
        }
        for method, path, status, body in operations(answers)
    ]
    write(folder / "mappings" / "all.json", {"mappings": mappings})
    (program,) = MODULES.glob("wiremock/build/*.jar")
    options = ["--disable-banner", "--no-request-journal", "--port", str(port)]
    return ["java", "-jar", program, *options, "--root-dir", folder]


def moto(answers: Answers, port: int, folder: Path) -> Command:
    return [PYTHON.with_name("moto_server"), "--port", str(port)]


def put_objects(answers: Answers, url: str) -> None:
    """moto has none of the operations: its S3 gives objects of the same bytes and paths."""
    fetch(url, b"", "PUT")
    for operation in ("deployment", "list"):
        fetch(url + PATHS[operation], answers[operation], "PUT")


WARM_UP = 5  # loads until Java and JavaScript are compiled: WireMock needs some ten seconds


class Peer(NamedTuple):
    """`package` is what it is called by npm or pip; `more` goes to its Candidate."""

    name: str
    package: str
    start: Callable[[Answers, int, Path], Command]
    more: Mapping[str, Any] = MappingProxyType({})

    @property
    def version(self) -> str | None:
        """None if it is not installed."""
        for file in MODULES.glob(f"{self.package}/package.json"):
            return str(json.loads(file.read_text("utf-8"))["version"])
        for folder in PEERS.glob(f"venv/lib/*/site-packages/{self.package}-*.dist-info"):
            return folder.name.removesuffix(".dist-info").split("-")[1]
        return None

    def candidate(self, answers: Answers) -> Candidate:
        """Itself, set up to answer as the service does."""
        more = {"warm_up": WARM_UP, **self.more}
        if "prepare" in more:  # it wants the answers too
            more["prepare"] = partial(more["prepare"], answers)
        name = f"{self.name} {self.version}"
        return Candidate(name, partial(self.start, answers), partial(is_same, answers), **more)


ALL_PEERS = (
    Peer("Express", "express", express, {"keeps": True}),
    Peer("FastAPI on uvicorn", "fastapi", fastapi, {"keeps": True}),
    Peer("json-server", "json-server", json_server, {"keeps": True}),
    Peer("Mockoon", "@mockoon/cli", mockoon),
    Peer("Prism", "@stoplight/prism-cli", prism),
    Peer("WireMock", "wiremock", wiremock),
    Peer(
        "moto's S3",
        "moto",
        moto,
        {"base": "/bench", "prepare": put_objects, "operations": ("deployment", "list")},
    ),
)
