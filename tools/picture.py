"""Takes the picture of the console in the README from the running program: docs/console.png.

Needs Debian's chromium and the packages of tests/requirements.txt.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
WIDTH, HEIGHT = 1440, 840
MAX_SIZE = 250_000  # bytes


@contextmanager
def program(port: int) -> Iterator[str]:
    """The running program, and its URL."""
    command = [sys.executable, "app.py", "--port", str(port), "--pace", "60", "--quiet"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        line = process.stdout.readline()
        if not line:
            sys.exit("The program did not start.")
        try:
            yield line.split()[-1]
        finally:
            process.terminate()


def send(url: str, method: str, path: str, document: Any = None, **headers: str) -> Any:
    """Send a request with the token, and return the document of the response."""
    data = None if document is None else json.dumps(document).encode()
    headers = {"Authorization": "Bearer dev-token", "Content-Type": "application/json", **headers}
    request = Request(f"{url}{path}", data, headers, method=method)
    with suppress(HTTPError), urlopen(request) as response:
        return json.loads(response.read() or "null")
    return None


def show_a_day(url: str) -> None:
    """Send what a client team might send."""
    for name in ("storefront", "payments-api", "mobile-app"):
        made = send(url, "POST", "/v1/projects", {"name": name})
        send(url, "GET", f"/v1/deployments/{made['latest_deployment_id']}")
        send(url, "POST", "/_stub/clock", {"advance": 45})
    send(url, "PUT", f"/_stub/deployments/{made['latest_deployment_id']}", {"status": "failed"})
    send(url, "GET", f"/v1/deployments/{made['latest_deployment_id']}")
    for name in ("data-export", "analytics"):
        made = send(url, "POST", "/v1/projects", {"name": name, "team": "insights"})
        send(url, "POST", "/_stub/clock", {"advance": 45})
    send(url, "POST", "/v1/projects", {"name": "storefront"})
    send(url, "POST", "/v1/projects", {"name": ""})
    send(url, "GET", "/v1/projects?page=2")
    send(url, "GET", "/v1/deployments/dpl_unknown")
    send(url, "GET", "/v1/projects", Authorization="Basic c3R1Yg==")
    send(url, "DELETE", "/v1/projects/prj_website")
    send(url, "POST", "/_stub/faults", {"operation": "listProjects", "status": 503, "times": 3})
    send(url, "GET", "/v1/projects")
    made = send(url, "POST", "/v1/projects", {"name": "status-page"})
    send(url, "GET", f"/v1/deployments/{made['latest_deployment_id']}")
    send(url, "GET", "/v1/deployments/dpl_succeeded")


def take_picture(url: str, target: Path) -> None:
    with sync_playwright() as playwright:
        # Chromium's sandbox does not run as root.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        page = browser.new_page(color_scheme="light", reduced_motion="reduce")
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        page.goto(url)
        page.get_by_role("status").get_by_text("Connected", exact=True).wait_for()
        page.get_by_role("tab", name="Coverage").click()
        page.locator("#requests tbody tr").filter(has_text="422").click()
        page.get_by_role("group", name="Response body").wait_for()
        page.mouse.move(1, 1)
        page.screenshot(path=target)
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("target", nargs="?", type=Path, default=ROOT / "docs" / "console.png")
    arguments = parser.parse_args()
    with program(arguments.port) as url:
        show_a_day(url)
        take_picture(url, arguments.target)
    size = arguments.target.stat().st_size
    if size > MAX_SIZE:
        sys.exit(f"{arguments.target} has {size} bytes, more than {MAX_SIZE}.")
    print(arguments.target, size)
