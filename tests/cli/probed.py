"""A client that depends on one thing, or on nothing: `probed.py [AXIS]`; what --probe runs."""

import http.client
import json
import os
import re
import sys
from typing import Any
from urllib.parse import quote, urlsplit

depends_on = sys.argv[1] if len(sys.argv) > 1 else ""
connection = http.client.HTTPConnection(urlsplit(os.environ["STUB_URL"]).netloc)
headers = {"Authorization": f"Bearer {os.environ['STUB_TOKEN']}"}


def call(path: str, document: Any = None) -> tuple[http.client.HTTPResponse, str, Any]:
    method, body = "GET", None
    more: dict[str, str] = {}
    if document is not None:
        method, body, more = "POST", json.dumps(document), {"Content-Type": "application/json"}
    connection.request(method, path, body, {**headers, **more})
    response = connection.getresponse()
    text = response.read().decode()
    return response, text, json.loads(text)


def need(axis: str, is_met: object) -> None:
    if depends_on == axis and not is_met:
        sys.exit(f"this client depends on {axis}")


listed, text, projects = call("/v1/projects")
need("json-text", text.startswith('{"projects": '))
names = [project["name"] for project in projects["projects"]]
need("list-order", names == ["website", "billing", "search"])

created, _, project = call("/v1/projects", {"name": "shop"})
assert created.status // 100 == 2
assert created.getheader("Stub-Grease") is None  # the client is not told
need("success-code", created.status == 201)
need("headers", len(created.getheaders()) == 5)
need("members", {*project} == {"id", "name", "created_at", "latest_deployment_id"})
need("ids", project["id"].startswith("prj"))
need("times", re.fullmatch(r".*\.\d{3}\D.*", project["created_at"]))
need("times-odd", "T" in project["created_at"])

deployment_id = project["latest_deployment_id"]
if depends_on != "ids-encoded":
    deployment_id = quote(deployment_id, safe="")
path = f"/v1/deployments/{deployment_id}"
need("ids-encoded", path.isascii() and path.isprintable() and " " not in path)
found, _, deployment = call(path)
need("ids-encoded", found.status == 200)
assert found.status == 200
need("status-values", deployment["status"] in ("queued", "building"))
need("member-order", next(iter(deployment)) == "id")

missing, _, problem = call("/v1/deployments/none")
assert missing.status == 404
need("error-text", problem["title"] == "Not Found")
need("media-type", missing.getheader("Content-Type") == "application/problem+json")
