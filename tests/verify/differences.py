"""What the lists, projects and deployments of a service may have that openapi.json has not.

A member or a header that is missing is found at itself, a wrong type too, the rest at the part
that states it; what follows from a difference is no other one.
"""

from tests.verify.changes import Edit, every_other, of_projects, on, put, renamed, without
from tests.verify.parts import (
    BODY,
    CREATED,
    DCREATED,
    DEP,
    DEP_200,
    DEP_ID,
    DEPLOYMENT,
    DID,
    ID,
    INPUT,
    INPUT_NAME,
    ITEMS,
    LATEST,
    LIST,
    LIST_200,
    LIST_PATH,
    LISTS,
    MEMBERS,
    NAME,
    NOTHING,
    OWNER,
    OWNER_NULL,
    OWNER_TEXT,
    POST,
    POST_201,
    PROJECT,
    PROJECTS,
    STATUS,
    broken,
    differs,
    unchecked,
    unstable,
)
from tests.verify.parts import difference as d
from tests.verify.service import Change

HTML = {"Content-Type": "text/html"}
PLAIN = {"Content-Type": "text/plain"}
NO_TYPE = {"Content-Type": None}
MODEL = {"Content-Type": "application/vnd.api+json"}
NO_LIST = unchecked(*LISTS, PROJECT, *MEMBERS)
IN_A_DEPLOYMENT = (DID, OWNER, OWNER_TEXT, OWNER_NULL, STATUS, DCREATED)
NO_DEPLOYMENT = unchecked(DEP, DEP_200, DEP_ID, f"{DEP_ID}/schema", DEPLOYMENT)
NO_DEPLOYMENT |= unchecked(*IN_A_DEPLOYMENT)
NO_CREATION = unchecked(POST, BODY, POST_201, INPUT, INPUT_NAME)


def of_new_projects(edit: Edit) -> Change:
    return on("created", body=edit)


THE_LIST = [
    d("list 203", "read", differs(LIST_200), on("list", status=203)),
    d(
        "list 204",
        "read",
        differs(LIST_200),
        on("list", status=204, raw=b""),
    ),
    *(
        d(f"list {status}", "read", broken(LIST), on("list", status=status))
        for status in (404, 405, 410)
    ),
    # Each operation of the path is gone.
    d("v2", "read", broken(LIST, LIST_PATH), version="/v2"),
    d("list 500", "read", NO_LIST, on("list", status=500)),
    d("list 503", "read", NO_LIST, on("list", status=503)),
    d("list text/plain", "read", differs(LIST_200), on("list", headers=PLAIN)),
    d("list vnd.api+json", "read", differs(LIST_200), on("list", headers=MODEL)),
    # Its body is none of a login page.
    d("list text/html", "read", differs(LIST_200), on("list", headers=HTML)),
    d("list without type", "read", differs(LIST_200), on("list", headers=NO_TYPE)),
    d("list is no JSON", "read", NO_LIST, on("list", raw=b"{'projects'")),
    # The created project shows the members all the same.
    d("it cannot be read", "abuse", unchecked(*LISTS), on("list", raw=b"{'projects'"), wait="0.2"),
    # No JSON, but a document that another reader would take.
    d("list is NaN", "read", NO_LIST, on("list", raw=b'{"projects": NaN}')),
    d(
        "an array at the top",
        "read",
        differs(PROJECTS),
        on("list", body=lambda body: body["projects"]),
    ),
    d("list is a text", "read", differs(PROJECTS), on("list", body=lambda body: "none")),
    d("list is null", "read", differs(PROJECTS), on("list", raw=b"null"), wait="0.2"),
    d(
        "list under another key",
        "read",
        differs(ITEMS),
        on("list", body=renamed("projects", "data")),
    ),
    d("projects null", "read", differs(ITEMS), on("list", body=put(projects=None)), wait="0.2"),
    d(
        "projects by id",
        "read",
        differs(ITEMS),
        on("list", body=put(projects=lambda each: {one["id"]: one for one in each})),
        wait="0.2",
    ),
    d(
        "projects are ids",
        "read",
        differs(PROJECT),
        on("list", body=put(projects=lambda each: [one["id"] for one in each])),
        wait="0.2",
    ),
    d(
        "list text/plain at times",
        "read",
        unstable(LIST_200),
        every_other(on("list", headers=PLAIN)),
    ),
    d(
        "list 500 at times",
        "read",
        unstable(LIST_200),
        every_other(on("list", status=500)),
    ),
    d("list 203 at times", "read", unstable(LIST_200), every_other(on("list", status=203))),
    d(
        "list an array at times",
        "read",
        unstable(PROJECTS),
        every_other(on("list", body=lambda body: body["projects"])),
    ),
]
TIMES = {
    "epoch": 1767603600,
    "epoch in ms": 1767603600000,
    "without zone": "2026-01-05T09:00:00",
    "a date": "2026-01-05",
    "HTTP": "Mon, 05 Jan 2026 09:00:00 GMT",
    "null": None,
    "digits": "1767603600",
    "zone without colon": "2026-01-05T09:00:00+0100",
}
OF_A_PROJECT = {"id": ID, "name": NAME, "created_at": CREATED, "latest_deployment_id": LATEST}
A_PROJECT = [
    *(
        d(f"project without {name}", "read", differs(part), of_projects(without(name)))
        for name, part in OF_A_PROJECT.items()
    ),
    *(
        d(f"project {name} null", "read", differs(part), of_projects(put(**{name: None})))
        for name, part in OF_A_PROJECT.items()
        if name != "created_at"
    ),
    *(
        d(f"project created {name}", "read", differs(CREATED), of_projects(put(created_at=value)))
        for name, value in TIMES.items()
    ),
    d("project id a number", "read", differs(ID), of_projects(put(id=int)), id_form="{1}"),
    d("project name an object", "read", differs(NAME), of_projects(put(name=lambda x: {"en": x}))),
    d("createdAt", "read", differs(CREATED), of_projects(renamed("created_at", "createdAt"))),
    # The path takes any text, so that the number names the deployment none the less.
    d(
        "latest a number",
        "read",
        differs(LATEST),
        of_projects(put(latest_deployment_id=int)),
        id_form="{1}",
    ),
    # How projects and deployments relate is not shown (§1): only our member is wrong.
    d("latest of none", "read", differs(LATEST), of_projects(put(latest_deployment_id="d-none"))),
    d(
        "latest is the deployment",
        "read",
        differs(LATEST),
        of_projects(put(latest_deployment_id=lambda each: {"id": each})),
    ),
    d(
        "one of many without created_at",
        "read",
        differs(CREATED),
        on("list", body=put(projects=lambda each: [*each[:-1], without("created_at")(each[-1])])),
    ),
    d(
        "created_at a number at times",
        "read",
        unstable(CREATED),
        every_other(of_projects(put(created_at=7))),
    ),
]
A_DEPLOYMENT = [
    d("deployment 203", "read", differs(DEP_200), on("deployment", status=203)),
    d("deployment text/plain", "read", differs(DEP_200), on("deployment", headers=PLAIN)),
    d("deployment without type", "read", differs(DEP_200), on("deployment", headers=NO_TYPE)),
    d("deployment 500", "read", NO_DEPLOYMENT, on("deployment", status=500)),
    d("deployment 405", "read", broken(DEP), on("deployment", status=405), wait="0.2"),
    # As "latest of none": from outside both are the same.
    d("deployment 404", "read", differs(LATEST), on("deployment", status=404), wait="0.2"),
    d(
        "deployment in an object",
        "read",
        differs(DEPLOYMENT),
        on("deployment", body=lambda body: {"deployment": body}),
    ),
    d(
        "deployment in an array",
        "read",
        differs(DEPLOYMENT) | broken(STATUS),
        on("deployment", body=lambda body: [body]),
    ),
    d(
        "deployment is null",
        "read",
        differs(DEPLOYMENT) | broken(STATUS),
        on("deployment", raw=b"null"),
    ),
    d("deployment without id", "read", differs(DID), on("deployment", body=without("id"))),
    d("deployment id a number", "read", differs(DID), on("deployment", body=put(id=7))),
    d("deployment id another", "read", differs(DID), on("deployment", body=put(id="d-0"))),
    d("no project_id", "read", differs(OWNER), on("deployment", body=without("project_id"))),
    d(
        "project_id a number",
        "read",
        differs(OWNER),
        on("deployment", body=put(project_id=7)),
    ),
    d(
        "project_id an object",
        "read",
        differs(OWNER),
        on("deployment", body=put(project_id=lambda each: {"id": each})),
    ),
    d(
        "project_id of another",
        "read",
        differs(OWNER),
        on("deployment", body=put(project_id="p-0")),
    ),
    # That of a listed project has one; the contract allows null "for one of no project".
    d(
        "project_id null",
        "read",
        NOTHING,
        on("deployment", body=put(project_id=None)),
    ),
    d("no status", "read", broken(STATUS), on("deployment", body=without("status"))),
    d("status null", "read", broken(STATUS), on("deployment", body=put(status=None))),
    d(
        "state for status",
        "read",
        broken(STATUS),
        on("deployment", body=renamed("status", "state")),
    ),
    # It can be read (§3), and its type is chosen, although the part has no word for that.
    d(
        "status a number",
        "read",
        broken(STATUS),
        on("deployment", body=put(status=3)),
    ),
    *(
        d(
            f"deployment {name}",
            "read",
            differs(DCREATED),
            on("deployment", body=put(created_at=value)),
        )
        for name, value in TIMES.items()
        if name in ("epoch", "without zone", "null")
    ),
    d("no created_at", "read", differs(DCREATED), on("deployment", body=without("created_at"))),
    d(
        "status at times",
        "read",
        unstable(STATUS),
        every_other(on("deployment", body=without("status"))),
    ),
    d(
        "a redirect",
        "read",
        differs(DEP_200),
        on("deployment", status=302, headers={"Location": "/login"}),
    ),
]
A_CREATION = [
    d("created 200", "write", differs(POST_201), on("created", status=200)),
    d("created 202", "write", differs(POST_201), on("created", status=202)),
    d("created 204", "write", differs(POST_201), on("created", status=204, raw=b"")),
    d(
        "created 303",
        "write",
        differs(POST_201),
        on("created", status=303, headers={"Location": "/v1/projects"}, raw=b""),
    ),
    d("created is null", "write", differs(PROJECT), on("created", raw=b"null")),
    d("created text/plain", "write", differs(POST_201), on("created", headers=PLAIN)),
    d("created without type", "write", differs(POST_201), on("created", headers=NO_TYPE)),
    d(
        "created is no JSON",
        "write",
        differs(POST_201),
        on("created", raw=b"ok"),
    ),
    d(
        "created in an object",
        "write",
        differs(PROJECT),
        of_new_projects(lambda body: {"project": body}),
    ),
    d("created id alone", "write", differs(NAME), of_new_projects(without("name"))),
    d(
        "list without ids",
        "write",
        differs(ID),
        on("list", body=put(projects=lambda each: [without("id")(one) for one in each])),
    ),
    d("created without id", "write", differs(ID), of_new_projects(without("id"))),
    d("created without time", "write", differs(CREATED), of_new_projects(without("created_at"))),
    d(
        "created without deployment",
        "write",
        differs(LATEST),
        of_new_projects(without("latest_deployment_id")),
    ),
    d("own member lost", "write", differs(PROJECT), keeps_members=False),
    d(
        "own members in another",
        "write",
        differs(PROJECT),
        of_projects(
            lambda body: {
                "extra": body,
                **{k: body[k] for k in ("id", "name", "created_at", "latest_deployment_id")},
            }
        ),
    ),
    d(
        "name in capitals",
        "write",
        differs(NAME),
        of_projects(put(name=lambda each: each.upper())),
    ),
    d(
        "own member lost in the list",
        "write",
        differs(PROJECT),
        on("list", body=put(projects=lambda each: [without("stub_verify")(one) for one in each])),
    ),
    d("never listed", "write", differs(PROJECTS), lists=False, wait="0.2"),
    d("a first page", "write", differs(PROJECTS), page=3, wait="0.2"),
    d("its deployment is not found", "write", differs(LATEST), finds=False, wait="0.2"),
    d(
        "its id is not in the list",
        "write",
        differs(PROJECTS, OWNER),
        on("list", body=put(projects=lambda each: [put(id=one["id"] + "x")(one) for one in each])),
        wait="0.2",
    ),
    d("POST 404", "write", broken(POST), posts=404),
    d("POST 405", "write", broken(POST), posts=405),
    # 501 is of the five hundreds: whoever runs the service may say whether it stays.
    d(
        "POST 501",
        "write",
        NO_CREATION,
        posts=501,
    ),
    # The token may lack a right (scopes are not shown, §5).
    d(
        "POST 403",
        "write",
        NO_CREATION,
        posts=403,
    ),
    # The interface shows no body: that another one is wanted breaks nothing.
    d("POST 415", "write", differs(BODY), posts=415),
    d(
        "a member is required",
        "write",
        differs(INPUT),
        needs_member="team",
    ),
    d(
        "integer ids",
        "write",
        differs(ID, LATEST, DID, OWNER),
        of_projects(put(id=int, latest_deployment_id=int)),
        on("deployment", body=put(id=int, project_id=int)),
        id_form="{1}",
    ),
]
DIFFERENCES = [*THE_LIST, *A_PROJECT, *A_DEPLOYMENT, *A_CREATION]
