"""List, create, poll, and take a 409 and a 404 with the client of openapi-python-client."""

import sys
import time

from service_client import AuthenticatedClient
from service_client.api.deployments import get_deployment
from service_client.api.projects import create_project, list_projects
from service_client.models import Deployment, Problem, Project, ProjectInput, ProjectList

service = AuthenticatedClient(base_url=sys.argv[1], token="dev-token")
listed = list_projects.sync(client=service)
assert isinstance(listed, ProjectList)
print(len(listed.projects), "projects")
created = create_project.sync(client=service, body=ProjectInput(name="shop"))
assert isinstance(created, Project)
status = "queued"
while status not in ("succeeded", "failed", "canceled"):
    time.sleep(0.05)
    deployment = get_deployment.sync(created.latest_deployment_id, client=service)
    assert isinstance(deployment, Deployment)
    assert deployment.project_id == created.id
    status = deployment.status
print(status)
taken = create_project.sync(client=service, body=ProjectInput(name="shop"))
assert isinstance(taken, Problem)
print(taken.status, taken.code)
unknown = get_deployment.sync("a/b", client=service)
assert isinstance(unknown, Problem)
print(unknown.status, unknown.code)
