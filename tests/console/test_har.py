"""What a browser records is enough for verify --har."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.verify.conftest import TOKEN, Service, listening, verify

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("console")]

CLIENT = """async (token) => {
    const headers = {Authorization: `Bearer ${token}`, "Content-Type": "application/json"}
    const send = async (path, more) => (await fetch(path, {headers, ...more})).json()
    await send("/v1/projects")
    const body = JSON.stringify({name: "shop"})
    const created = await send("/v1/projects", {method: "POST", body})
    const deployment = `/v1/deployments/${created.latest_deployment_id}`
    for (let turn = 0; turn < 3; turn++) await send(deployment)
    await fetch(deployment, {headers}) // Its body is not read.
    await send(deployment)
    await send("/v1/projects")
}"""


def test_a_browser_records_what_is_needed(tmp_path: Path, browser: "Browser") -> None:
    file = tmp_path / "browser.har"
    with listening(Service()) as url:
        context = browser.new_context(record_har_path=str(file), record_har_content="embed")
        page = context.new_page()
        page.goto(f"{url}/v1/start")  # any page of this origin
        page.evaluate(CLIENT, TOKEN)
        context.close()
    saved = tmp_path / "profile.json"
    done = verify("", "--har", str(file), "--save", str(saved), env={})
    assert done.status == 0, done.stdout
    profile = json.loads(saved.read_text("utf-8"))
    assert profile["statuses"] == {"run": ["queued", "building", "succeeded"]}
    assert profile["record"]["name"] == "{project.name}"
    assert TOKEN not in done.stdout
