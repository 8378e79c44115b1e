"""Takes the picture of the console in the README, as the command beside the program.

docs/development.md has the whole line. Needs Debian's chromium and tests/requirements.txt.
"""

import os
import shutil
from pathlib import Path

from playwright.sync_api import APIRequestContext, sync_playwright

TARGET = Path(__file__).resolve().parent.parent / "docs" / "console.png"
URL = os.environ["STUB_URL"]


def create(client: APIRequestContext, name: str, **members: str) -> str:
    """Create a project; returns the path of its deployment below /v1 and /_stub."""
    project = client.post("/v1/projects", data={"name": name, **members}).json()
    return f"/deployments/{project['latest_deployment_id']}"


def show_a_day(client: APIRequestContext) -> None:
    """Send the requests of a client team."""
    for name in ("storefront", "payments-api", "mobile-app"):
        deployment = create(client, name)
        for _ in range(4):
            client.get(f"/v1{deployment}")
        client.post("/_stub/clock", data={"advance": 45})
    client.put(f"/_stub{deployment}", data={"status": "failed"})
    client.get(f"/v1{deployment}")
    for name in ("data-export", "analytics"):
        create(client, name, team="insights")
        client.post("/_stub/clock", data={"advance": 45})
    client.post("/v1/projects", data={"name": "storefront"})
    client.post("/v1/projects", data={"name": ""})
    client.get("/v1/projects?page=2")
    client.get("/v1/deployments/dpl_unknown")
    client.get("/v1/projects", headers={"Authorization": "Basic c3R1Yg=="})
    client.delete("/v1/projects/prj_website")
    client.post("/_stub/faults", data={"operation": "listProjects", "status": 503, "times": 3})
    client.get("/v1/projects")
    client.get(f"/v1{create(client, 'status-page')}")
    client.get("/v1/deployments/dpl_succeeded")


with sync_playwright() as playwright:
    token = {"Authorization": "Bearer dev-token"}
    show_a_day(playwright.request.new_context(base_url=URL, extra_http_headers=token))
    # Chromium's sandbox does not run as root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
    page = browser.new_page(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size({"width": 1440, "height": 840})
    page.goto(URL)
    page.get_by_role("status").get_by_text("Connected", exact=True).wait_for()
    page.get_by_role("tab", name="Coverage").click()
    page.locator("#requests tbody td.code").get_by_text("422", exact=True).click()
    page.get_by_role("group", name="Response body").wait_for()
    page.mouse.move(1, 1)
    page.screenshot(path=TARGET)
    browser.close()
