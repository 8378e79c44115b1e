# mypy: ignore-errors
# (FastAPI is in bench/.peers, where the type checker does not look.)
"""The same three operations in FastAPI, as one would write them in five minutes.

`fastapi_app.py PORT FILE`, where FILE holds `{"projects": [...], "deployments": [...]}`.
"""

import json
import secrets
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException
from pydantic import BaseModel, ConfigDict


class NewProject(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


async def check_token(authorization: Annotated[str, Header()] = "") -> None:
    if authorization != "Bearer dev-token":
        raise HTTPException(401)


data = json.loads(Path(sys.argv[2]).read_text("utf-8"))
projects = data["projects"]
deployments = {each["id"]: each for each in data["deployments"]}
app = FastAPI(dependencies=[Depends(check_token)])


@app.get("/v1/projects")
async def list_projects():
    return {"projects": projects}


@app.post("/v1/projects", status_code=201)
async def create_project(sent: NewProject):
    project = {
        "id": f"prj_{secrets.token_hex(8)}",
        "created_at": datetime.now(timezone.utc).isoformat(),
        "latest_deployment_id": f"dpl_{secrets.token_hex(8)}",
        **sent.model_dump(),
    }
    projects.append(project)
    deployments[project["latest_deployment_id"]] = {
        "id": project["latest_deployment_id"],
        "project_id": project["id"],
        "status": "queued",
        "created_at": project["created_at"],
    }
    return project


@app.get("/v1/deployments/{deployment_id}")
async def get_deployment(deployment_id: str):
    if deployment_id not in deployments:
        raise HTTPException(404)
    return deployments[deployment_id]


uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="warning")
