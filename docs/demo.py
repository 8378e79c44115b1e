"""Creates a project and prints each status of its deployment; takes the URL of the stub."""

import json
import os
import sys
import time
from typing import Any
from urllib.request import Request, urlopen

url = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("STUB_URL", "http://127.0.0.1:8080")
token = os.environ.get("STUB_TOKEN", "dev-token")
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}


def call(path: str, document: Any = None) -> Any:
    """POST the document if there is one, otherwise GET."""
    body = None if document is None else json.dumps(document).encode()
    with urlopen(Request(url + path, body, headers)) as response:
        return json.load(response)


project = call("/v1/projects", {"name": f"demo {time.time():.0f}"})
path = f"/v1/deployments/{project['latest_deployment_id']}"
previous = None
while previous not in ("succeeded", "failed", "canceled"):
    status = call(path)["status"]
    if status == previous:
        time.sleep(0.2)
    else:
        print(status, flush=True)
    previous = status
