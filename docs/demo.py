"""Creates a project every few seconds, lists all, and prints the statuses of the deployments.

It ends with Ctrl-C. Every fourth name ends with `-fails`. The argument is the URL of the stub.
"""

import itertools
import json
import os
import sys
import time
from http.client import HTTPException
from secrets import token_hex
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

url = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("STUB_URL", "http://127.0.0.1:8080")
token = os.environ.get("STUB_TOKEN", "dev-token")
MAX_TRIES = 20
PAUSE = 0.5  # seconds between two polls
POLLS = 6  # polls between two creations
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}


def call(path: str, document: Any = None) -> Any:
    """POST a document, or GET without a document. Repeat the request after a 503."""
    body = None if document is None else json.dumps(document).encode()
    for _ in range(MAX_TRIES):
        response = attempt(path, body)
        if response is not None:
            return response
        method = "GET" if body is None else "POST"
        print(f"{method} {path}: 503, trying again", file=sys.stderr)
    sys.exit(f"{path} responded with 503 {MAX_TRIES} times.")


def attempt(path: str, body: bytes | None) -> Any:
    """Return the document of the response. After a 503, wait and return None."""
    try:
        with urlopen(Request(url.rstrip("/") + path, body, headers)) as response:
            return json.load(response)
    except HTTPError as error:
        if error.code != 503:
            sys.exit(f"{path} responded with {error.code}: {find_advice(error)}")
        wait = error.headers.get("Retry-After", "")
        time.sleep(max(0.2, int(wait)) if wait.isdecimal() else 0.2)
        return None
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        sys.exit(f"No response from {url} ({reason}): start the program, or give its URL.")


def find_advice(error: HTTPError) -> str:
    if error.code == 401:
        return "set STUB_TOKEN to the token of the program."
    try:
        return str(json.load(error)["detail"])
    except (OSError, HTTPException, ValueError, LookupError, TypeError):
        return f"is the stub at {url}?"  # The body is no problem document.


def create(name: str) -> str:
    """Create a project, and return the path of its deployment."""
    project = call("/v1/projects", {"name": name})
    if "latest_deployment_id" not in project:
        sys.exit("The project has no latest_deployment_id.")
    return f"/v1/deployments/{quote(project['latest_deployment_id'], safe='')}"


def follow(paths: dict[str, str], seen: dict[str, str], ended: set[str]) -> None:
    """Print changed statuses. Forget the deployments that have ended."""
    for name, path in [*paths.items()]:
        status = call(path)["status"]
        if status != seen.get(name):
            print(f"{name}: {status}", flush=True)
            seen[name] = status
        if status in ended:
            del paths[name]


def main() -> None:
    known = call("/openapi.json")["components"]["schemas"]["Deployment"]["properties"]["status"]
    ended = {"succeeded", "failed", "canceled"} - {*known["x-running"]} | {known["examples"][-1]}
    paths: dict[str, str] = {}  # the paths of the deployments, by project
    seen: dict[str, str] = {}
    prefix = f"demo-{token_hex(2)}"
    for number in itertools.count(1):
        name = f"{prefix}-{number}{'-fails' if number % 4 == 0 else ''}"
        paths[name] = create(name)
        call("/v1/projects")  # So a fault of the list has an effect.
        for _ in range(POLLS):
            follow(paths, seen, ended)
            time.sleep(PAUSE)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
