"""The commands and the code of the documents run, and print what is printed."""

import json
import os
import re
import runpy
import signal
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLE_SEED, TOKEN, Clock, client_of, make_stub, needs
from tests.contract import CREATED
from tests.docs.documents import FILES, TEXTS, Block, blocks_like, execute, leave_out_the_stub
from tests.live import serving
from tests.program import finished, process, run
from tests.wire import call

pytestmark = pytest.mark.process

URL = "http://127.0.0.1:8080"
LIKE = "docs/like.md"
PYTHON = r"\.venv/bin/python "
CURLS = blocks_like("curl ")
STARTS = blocks_like(rf"{PYTHON}app\.py (?!.* -- )")
SERVERS = blocks_like(r"(PYTHONPATH=\. )?\.venv/bin/(flask|waitress-serve) ")
# Around tests: each ends by itself.
AROUND = [*blocks_like(rf"{PYTHON}app\.py .* -- python3 "), *blocks_like("(mkdir .*)?uvx ")]
# What the other tests run, and what people do.
OTHERS = (
    "python3 -c ",
    ".venv/bin/python docs/demo.py",
    "VERIFY_TOKEN=",
    '.venv/bin/pip install -q "$STUB"',  # test_pytest.py
    "python3 -m venv ",  # .ci/run does it
    ".ci/run",
    ".venv/bin/python -m tests.replayed --diff",
    "deployment-stub --pace 0 -- COMMAND",
    ".venv/bin/python app.py --port 8080 --pace 60 --quiet -- .venv/bin/python tools/picture.py",
)
# What is printed after each, in one document or two.
ENDING = {
    text: [block.printed for block in AROUND if block.text == text]
    for text in dict.fromkeys(block.text for block in AROUND)
}
TOOLS = {"-- sh ": "curl", "-- go ": "go", "-- node ": "node"}
# It starts the program of this folder, with a Python first in the PATH of the command that has none
# of the team's packages.
UVX = f"""#!/bin/sh
PATH="$(dirname "$0")/tool:$PATH"
shift 3 && exec "{sys.executable}" "{ROOT}/app.py" "$@"
"""
# What the example of Pact verifies: two states, params, and the value of a state in the request.
PACT = """{
  "consumer": {"name": "client"}, "provider": {"name": "stub"},
  "interactions": [{
    "type": "Synchronous/HTTP", "description": "a deployment that has failed",
    "providerStates": [
      {"name": "no projects exist"},
      {"name": "a deployment exists", "params": {"id": "dpl_77", "status": "failed"}}],
    "request": {
      "method": "GET", "path": "/v1/deployments/any",
      "generators": {"path": {
        "type": "ProviderState", "dataType": "STRING",
        "expression": "/v1/deployments/${deployment_id}"}}},
    "response": {"status": 200, "body": {
      "content": {"id": "dpl_77", "status": "failed"},
      "contentType": "application/json", "encoded": false}}}],
  "metadata": {"pactSpecification": {"version": "4.0"}}
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A clone, which has the tools of a team and the files of the documents."""
    for name, text in {"uvx": UVX, "tool/python3": "#!/bin/sh\nexit 9\n"}.items():
        script = tmp_path / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(text, "utf-8")
        script.chmod(0o755)
    for name, text in FILES.items():
        (tmp_path / name).write_text(f"{text}\n", "utf-8")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    for name in ("app.py", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_every_command_is_run_by_a_test() -> None:
    tried = [*CURLS, *STARTS, *SERVERS, *AROUND]
    shown = [block.text for block in blocks_like("") if block not in tried]
    assert [text for text in shown if not text.startswith(OTHERS)] == []


def assert_curls(document: str, url: str) -> None:
    """Each command of a document gets the response that is printed."""
    needs("curl")
    for block in CURLS:
        if block.document == document:
            done = execute(["sh", "-c", block.text.replace(URL, url)])
            expected = f"{block.printed}\n" if block.printed else ""
            assert done.stdout.replace(url, URL) == expected, block.text


@pytest.mark.parametrize("name", sorted({block.document for block in CURLS} - {LIKE}))
def test_every_curl_gets_the_response_that_is_printed(name: str) -> None:
    ids = {
        "prj": iter(["prj_5f2c9a4be1d07c36", "prj_2b7e14c09d5fa681"]),
        "dpl": iter(["dpl_8d1b6e90c2f7a453", "dpl_c4f09e6a7d1b3852"]),
        "flt": iter(["flt_1"]),
    }
    app = make_stub(seed=SAMPLE_SEED, clock=Clock(), new_id=lambda kind, *_: next(ids[kind]))
    with serving(app) as port:
        assert_curls(name, f"http://127.0.0.1:{port}")


@pytest.mark.parametrize(
    "start", [*(block.text for block in STARTS), ".venv/bin/python app.py --states states.json"]
)
def test_every_command_that_starts_the_program_does_so(
    start: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profile's program is the one that its page calls."""
    monkeypatch.chdir(folder)

    def use(url: str) -> None:
        assert call(url, "/_stub/health").status_code == 200
        if "--like service.json" in start:
            assert_curls(LIKE, url)

    assert run(*start.split()[2:], "--port", "0", during=use).status == 0


@pytest.mark.slow
@pytest.mark.parametrize("block", SERVERS, ids=lambda block: block.text)
def test_every_server_of_the_service_alone_serves_it(block: Block, folder: Path) -> None:
    _, _, command = block.text.replace("8080", "0").partition(".venv/bin/")
    name, *words = command.split()
    module = name.removesuffix("-serve")
    with process("-m", module, *words, cwd=folder, env={"PYTHONPATH": str(ROOT)}) as started:
        shown = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in started.stderr)
        url = next(filter(None, shown))[0]
        assert call(url, "/v1/projects").json == {"projects": []}
        assert call(url, "/_stub/health").status_code == 404


def as_printed(text: str) -> str:
    """An output with the port and the times that the documents show."""
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:49152", text)
    text = re.sub(r"\d+\.\d ms", "0.4 ms", re.sub(r"in \d+\.\d s", "in 0.2 s", text))
    return re.sub(r"after \d\.\d\d s", "after 0.00 s", text)


def assert_printed(printed: str, output: str) -> None:
    """An output is as a document prints it, which has a sign in place of what is left out."""
    pieces = map(re.escape, as_printed(f"{printed}\n").split("…\n"))
    assert re.fullmatch(r"(?:.*\n)+".join(pieces), as_printed(output)), output


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(text, marks=() if "careless.sh" in text else pytest.mark.slow)
        for text in ENDING
    ],
)
def test_every_command_around_tests_passes_or_prints_the_findings_that_are_printed(
    command: str, folder: Path
) -> None:
    needs(*(tool for word, tool in TOOLS.items() if word in command))
    path = os.pathsep.join([f"{folder}/bin", f"{sys.prefix}/bin", os.environ["PATH"]])
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = execute(["sh", "-c", command], folder, PATH=path, **alone)
    findings = [text for text in ENDING[command] if "finding: " in text]
    for printed in findings:
        assert_printed(printed, done.stderr)
    assert done.returncode == (1 if findings else 0), done.stdout + done.stderr


@pytest.mark.parametrize("block", blocks_like("from ", "python"), ids=lambda block: block.document)
def test_every_example_in_python_runs(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_PROGRAM", str(ROOT / "app.py"))
    (tmp_path / "client.json").write_text(PACT, "utf-8")
    with serving(make_stub(seed=SAMPLE_SEED)) as port:
        code = block.text.replace("pacts", str(tmp_path)).replace(URL, f"http://127.0.0.1:{port}")
        exec(compile(code, block.document, "exec"), {})


def test_the_contract_without_the_stub_has_nothing_of_it(tmp_path: Path) -> None:
    leave_out_the_stub(tmp_path)
    text = (tmp_path / "service.json").read_text("utf-8")
    words = r"stub|(?<![\w-])--[a-z]|world|loopback|trusted|strict(?! JSON)|store_|stderr"
    own = "The stub failed: see its log on stderr."  # an example, of no part of the contract
    lines = text.replace(own, "").splitlines()
    assert [line for line in lines if re.search(words, line, re.IGNORECASE)] == []
    responses = json.loads(text)["paths"]["/v1/projects"]["get"]["responses"]
    assert "200" in responses
    assert not {"503", "507"} & {*responses}


def test_the_demo_goes_on_until_it_is_ended_or_says_what_is_wrong() -> None:
    with serving(make_stub(seed=SAMPLE_SEED, pace=0)) as port:
        url = f"http://127.0.0.1:{port}"
        done = finished("docs/demo.py", f"{url}/", env={"STUB_TOKEN": "wrong"})
        assert (done.status, done.stdout) == (1, "")
        reason = r"/v1/projects responded with 401: set STUB_TOKEN to the token of .*\n"
        assert re.fullmatch(reason, done.stderr), done.stderr
        again = b'{"operation": "listProjects", "status": 503, "headers": {"Retry-After": "0"}}'
        call(url, "/_stub/faults", body=again, token=f"{TOKEN}.1")
        env = {"STUB_TOKEN": f"{TOKEN}.1", "PYTHONUNBUFFERED": "1"}
        with process("docs/demo.py", url, env=env) as started:
            line = started.stdout.readline()
            started.send_signal(signal.SIGINT)
            assert re.fullmatch(r"demo-[0-9a-f]{4}-1: \w+\n", line)
            assert started.communicate()[1] == "GET /v1/projects: 503, trying again\n"
            assert started.returncode == 130


def test_verify_prints_what_is_printed_and_takes_the_known_differences(tmp_path: Path) -> None:
    (printed,) = blocks_like("verify ", "text")
    (known,) = blocks_like("# The service sorts", "text")
    assert "Start the program with `--grease list-order --grease-seed 7`" in TEXTS[known.document]
    file = tmp_path / "known.txt"
    file.write_text(known.text, "utf-8")
    app = make_stub(seed=SAMPLE_SEED, grease=("list-order",), grease_seed=7)
    with serving(app) as port:
        words, env = ("verify", f"http://127.0.0.1:{port}", "--pause=0"), {"VERIFY_TOKEN": TOKEN}
        done = run(*words, env=env)
        files = (f"--known={file}", f"--report={tmp_path}/report")
        again = run(*words, "--fail-on=differs", *files, env=env)
    assert_printed(printed.text, done.stdout)
    assert (done.status, again.status) == (0, 0)
    assert again.stdout.count("matches no finding") == 1
    (shown,) = (json.loads(block.text) for block in blocks_like(r'\{\s+"url"', "json"))
    report = json.loads((tmp_path / "report").read_text("utf-8"))
    assert report.keys() == shown.keys()
    for name in ("parts", "probes"):
        assert report[name][0].keys() == shown[name][0].keys()


def test_a_store_on_sqlite_keeps_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    create_app = runpy.run_path(str(ROOT / "docs" / "sqlite_store.py"))["create_app"]
    client = client_of(create_app())
    created = client.post("/v1/projects", json={"name": "shop"})
    assert created.status_code == CREATED
    taken = client.post("/v1/projects", json={"name": "shop"})
    assert taken.json["code"] == "name_taken"
    again = client_of(create_app())
    assert again.get("/v1/projects").json == {"projects": [created.json]}
    deployment = again.get(f"/v1/deployments/{created.json['latest_deployment_id']}")
    assert deployment.json["status"] == "queued"
