"""Takes the picture of the console in the README, as the command beside the program.

docs/development.md has the whole line. Needs Debian's chromium and tests/requirements.txt.
"""

import json
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from playwright.sync_api import sync_playwright

TARGET = Path(__file__).resolve().parent.parent / "docs" / "console.png"
WIDTH, HEIGHT = 1440, 840
MAX_SIZE = 250_000  # bytes
URL = os.environ["STUB_URL"]


def send(method: str, path: str, document: Any = None, **headers: str) -> Any:
    """Send a request with the token, and return the document of the response."""
    data = None if document is None else json.dumps(document).encode()
    headers = {"Authorization": "Bearer dev-token", "Content-Type": "application/json", **headers}
    request = Request(f"{URL}{path}", data, headers, method=method)
    with suppress(HTTPError), urlopen(request) as response:
        return json.loads(response.read() or "null")
    return None


def create(name: str, **members: str) -> str:
    """Create a project; returns the path of its deployment below /v1 and /_stub."""
    project = send("POST", "/v1/projects", {"name": name, **members})
    return f"/deployments/{project['latest_deployment_id']}"


def show_a_day() -> None:
    """Send what a client team might send."""
    for name in ("storefront", "payments-api", "mobile-app"):
        deployment = create(name)
        send("GET", f"/v1{deployment}")
        send("POST", "/_stub/clock", {"advance": 45})
    send("PUT", f"/_stub{deployment}", {"status": "failed"})
    send("GET", f"/v1{deployment}")
    for name in ("data-export", "analytics"):
        create(name, team="insights")
        send("POST", "/_stub/clock", {"advance": 45})
    send("POST", "/v1/projects", {"name": "storefront"})
    send("POST", "/v1/projects", {"name": ""})
    send("GET", "/v1/projects?page=2")
    send("GET", "/v1/deployments/dpl_unknown")
    send("GET", "/v1/projects", Authorization="Basic c3R1Yg==")
    send("DELETE", "/v1/projects/prj_website")
    send("POST", "/_stub/faults", {"operation": "listProjects", "status": 503, "times": 3})
    send("GET", "/v1/projects")
    send("GET", f"/v1{create('status-page')}")
    send("GET", "/v1/deployments/dpl_succeeded")


show_a_day()
with sync_playwright() as playwright:
    # Chromium's sandbox does not run as root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    chromium = shutil.which("chromium")
    browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
    page = browser.new_page(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.goto(URL)
    page.get_by_role("status").get_by_text("Connected", exact=True).wait_for()
    page.get_by_role("tab", name="Coverage").click()
    page.locator("#requests tbody tr").filter(has_text="422").click()
    page.get_by_role("group", name="Response body").wait_for()
    page.mouse.move(1, 1)
    page.screenshot(path=TARGET)
    browser.close()
if TARGET.stat().st_size > MAX_SIZE:
    sys.exit(f"{TARGET} has more than {MAX_SIZE} bytes.")
