"""Changes the contract to that of a profile: the schemas and the examples of its responses."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from traffic import json_values
from web import documents
from web.routing import CREATED
from web.schemas import Schema
from web.strict_json import MEDIA_TYPE
from web.validation import format_pointer

from . import bodies, markers
from .forms import describe_error
from .openapi import ELSEWHERE
from .profile import LATEST, Form, Profile
from .schema import build_schema, describe_statuses, make_origin

Document = dict[str, Any]


def build_contract(openapi: bytes, profile: Profile) -> bytes:
    """Return the contract with the responses of a profile, which have an `x-origin`."""
    document = json.loads(openapi)
    if not profile.shows_latest:
        document = json_values.map_leaves(document, lambda _, value: drop_latest(value))
    ObservedContract(document, profile).change()
    return f"{json.dumps(document, ensure_ascii=False)}\n".encode()


def drop_latest(value: Any) -> Any:
    """Drop the sentences about `latest_deployment_id`, a member that the service does not have.

    A paragraph with a title, such as `**A first session.** …`, is dropped as a whole.
    """
    if not isinstance(value, str) or f"`{LATEST}`" not in value:
        return value
    kept = []
    for paragraph in value.split("\n\n"):
        if LATEST not in paragraph:
            kept.append(paragraph)
        elif not paragraph.startswith("**"):
            kept.append(re.sub(f" ?[^.]*`{LATEST}`[^.]*[.]", "", paragraph))
    return "\n\n".join(kept)


class ObservedContract:
    """Changes a contract to that of a profile."""

    def __init__(self, document: Document, profile: Profile) -> None:
        self.document = document
        self.profile = profile
        self.origin = make_origin(profile)
        self.components: dict[str, Schema] = document["components"]["schemas"]

    def change(self) -> None:
        info = self.document["info"]
        info["description"] = (
            f"The parts with `observed` are as a service was on {self.profile.observed_at}; they "
            f"overrule this text.\n\n{info['description']}"
        )
        paths = self.document["paths"]
        projects = paths["/v1/projects"]
        deployment = paths["/v1/deployments/{id}"]
        self.change_plain_forms()
        self.change_request(projects["post"])
        if "errors" in self.profile.document:
            ErrorResponses(self.document, self.profile).change()
        self.change_list(projects["get"])
        self.change_creation(projects["post"])
        self.change_deployment(deployment["get"])

    # The forms that the profile leaves out

    def change_plain_forms(self) -> None:
        """Write the statuses and the ids of the profile into the schemas of the plain records."""
        profile = self.profile
        project = self.components["Project"]["properties"]
        deployment = self.components["Deployment"]["properties"]
        status = deployment["status"]
        if profile.statuses:
            status.update(describe_statuses(profile))
        self.document["x-statuses"] = {
            "known": status["examples"],
            "running": status["x-running"],
        }
        self.change_plain_id(project["id"], "projects")
        self.change_plain_id(deployment["project_id"], "projects")
        self.change_plain_id(project["latest_deployment_id"], "deployments")
        self.change_plain_id(deployment["id"], "deployments")

    def change_plain_id(self, schema: Schema, kind: str) -> None:
        profile = self.profile
        if kind not in profile.ids:
            return
        schema.update(self.origin)
        if not profile.has_opaque_ids(kind):
            del schema["x-grease"]
        if profile.has_integers(kind):
            for each in schema.get("anyOf", [schema]):
                if each["type"] == "string":
                    each["type"] = "integer"
            del schema["examples"]

    # The three operations

    def change_list(self, operation: Document) -> None:
        profile = self.profile
        form = profile.form("list")
        if form is None:
            return
        # `Project` stays as it is if only the list has another form.
        name = "Project" if "create" in profile.document else "ListedProject"
        around, item = bodies.extract_item(form.body, [])
        self.components[name] = build_schema(item, profile)
        schema = build_schema(around, profile)
        listed: Any = schema
        for member in next(markers.find_project_arrays(form.body)):
            listed = listed.get("properties", {}).get(member, {})
        listed["items"] = documents.make_ref(name)
        listed["x-grease"] = ["list-order"]
        listed["description"] = "Newest first." if profile.is_newest_first else "Oldest first."
        self.components["ProjectList"] = schema
        self.change_response(operation["responses"]["200"], form, "ProjectList")

    def change_creation(self, operation: Document) -> None:
        form = self.profile.form("create")
        if form is None:
            return
        responses = operation["responses"]
        response = responses.pop(str(CREATED))
        schema = build_schema(form.body, self.profile)
        is_project = schema == self.components["Project"]
        name = "Project" if is_project else "CreatedProject"
        if form.body is not None:
            self.components[name] = schema
        self.change_response(response, form, name)
        place = self.find_deployment_id(form.body)
        if place is None:
            del response["links"]
        else:
            parameters = response["links"]["followDeployment"]["parameters"]
            parameters["id"] = f"$response.body#{place}"
        status = form.status or CREATED
        operation["responses"] = {str(status): response, **responses}

    def find_deployment_id(self, body: Any) -> str | None:
        """Return the JSON pointer of the deployment's id in the body of a creation, or None."""
        for path, value in json_values.walk(body):
            marker = markers.parse_whole_marker(value)
            if marker and self.profile.is_deployment_id(marker) and markers.CHOICE not in path:
                return format_pointer(*path)
        return None

    def change_deployment(self, operation: Document) -> None:
        form = self.profile.form("deployment")
        if form is None:
            return
        if form.body is not None:
            self.components["Deployment"] = build_schema(
                form.body, self.profile, is_deployment=True
            )
        for parameter in operation["parameters"]:
            del parameter["examples"]
        self.change_response(operation["responses"]["200"], form, "Deployment")

    def change_response(self, response: Document, form: Form, name: str) -> None:
        response.update(self.origin)
        del response["content"]
        if form.body is not None:
            response["content"] = {form.media_type: {"schema": documents.make_ref(name)}}
        response["headers"] = build_fields(response, form, self.origin)

    # The request

    def change_request(self, operation: Document) -> None:
        profile = self.profile
        if "create" not in profile.document:
            return
        example = profile.request.value
        own = self.components["ProjectInput"]
        body = operation["requestBody"]
        if profile.request.is_own:
            properties = own["properties"]
            self.components["ProjectInput"] = self.build_request_schema(example, properties["name"])
            body.update(self.origin)
        elif profile.request.has_optional_name:
            own.update(self.origin)
            own["required"] = []
        value = markers.replace_text(example, markers.NAME, "shop")
        content = body["content"][MEDIA_TYPE]
        content["examples"] = {"observed": {"value": value}}
        body["content"] = {profile.request_type: content}

    def build_request_schema(
        self, example: dict[str, Any], name: Schema, path: json_values.Path = ()
    ) -> Schema:
        """Return the schema of a request, or of an object in it. `name` is the schema of a name."""
        own = {}
        for member, value in example.items():
            if value == markers.NAME:
                own[member] = name
            elif isinstance(value, dict):
                own[member] = self.build_request_schema(value, name, (*path, member))
        schema = build_schema({**example, **dict.fromkeys(own, "")}, self.profile)
        schema.setdefault("properties", {}).update(own)
        required = self.profile.request.all_required
        schema["required"] = [member for member in example if (*path, member) in required]
        return schema


def build_fields(response: Document, form: Form, origin: Schema) -> Document:
    """Return the header fields of a response. Those of a form replace the contract's."""
    own: Document = response["headers"]
    replaced = [name.lower() for name in form.headers]
    schema = {"type": "string", **origin}
    fields = {name: own[name] for name in own if name.lower() not in replaced}
    for name in form.headers:
        fields[name] = {"required": True, "schema": schema, **origin}
    return fields


class Error(NamedTuple):
    """An error of a response in the contract, such as `Error("name_taken", 409, …)`.

    Without a form the error stays as the contract has it.
    """

    code: str
    status: int
    response: Document
    example: Document
    form: Form | None


class ErrorResponses:
    """Changes the responses of a contract to errors as a profile has them."""

    def __init__(self, document: Document, profile: Profile) -> None:
        self.document = document
        self.profile = profile
        self.origin = make_origin(profile)
        components = document["components"]
        self.components: dict[str, Schema] = components["schemas"]
        self.headers: Document = components["headers"]
        self.responses: Document = components["responses"]
        self.plain_responses = dict(self.responses)  # the responses before their errors change
        # The schemas and the examples of errors; key: code, status
        self.errors: dict[tuple[str, int], tuple[Schema, Any]] = {}

    def change(self) -> None:
        for item in self.document["paths"].values():
            for operation in item.values():
                if "responses" in operation:
                    operation["responses"] = self.build_responses(operation["responses"])
        self.responses.clear()
        elsewhere = {}
        for status, name in ELSEWHERE.items():
            elsewhere[status] = self.plain_responses[name]
            built = self.build_responses({status: self.plain_responses[name]})
            self.responses[name] = next(iter(built.values()))
        self.document["x-elsewhere"] = self.build_responses(elsewhere)

    def build_responses(self, responses: Document) -> Document:
        """Return the responses with the errors of the profile.

        If a profile says that `token_invalid` is 403, the error moves from the response 401 to 403,
        where it comes after the errors that the contract has there.
        """
        found: Document = {}
        kept: dict[int, list[Error]] = defaultdict(list)  # key: status
        moved: dict[int, list[Error]] = defaultdict(list)
        for text, response in responses.items():
            if text < "400":
                found[text] = response
                continue
            own = documents.follow_ref(response, self.plain_responses)
            for error in self.find_errors(int(text), own):
                group = kept if error.status == int(text) else moved
                group[error.status].append(error)
        for status in sorted({*kept, *moved}):
            found[str(status)] = self.build_response(kept[status] + moved[status])
        return found

    def find_errors(self, status: int, response: Document) -> Iterator[Error]:
        """Yield the errors of a response of the contract."""
        # The server also sends these errors by itself, in its own form.
        of_server = (
            "malformed_request",
            "host_not_allowed",
            "headers_too_large",
            "body_too_large",
            "internal_error",
        )
        (content,) = response["content"].values()
        for code, example in content["examples"].items():
            form = self.profile.error_form(code)
            if form:
                yield Error(code, form.status or status, response, example, form)
            if form is None or code in of_server:
                yield Error(code, status, response, example, None)

    def build_response(self, errors: list[Error]) -> Document:
        """Return the response with these errors, which have the same status."""
        responses = [error.response for error in errors]
        descriptions = dict.fromkeys(each["description"] for each in responses)
        response = {
            **responses[0],
            "description": " ".join(descriptions),
            "headers": self.join_headers(errors),
            "x-codes": list(dict.fromkeys(error.code for error in errors)),
        }
        if any(error.form for error in errors):
            response.update(self.origin)
        if not all("x-stub-only" in each for each in responses):
            response.pop("x-stub-only", None)
        del response["content"]
        contents = self.build_contents(errors)
        if contents:
            response["content"] = contents
        return response

    def build_contents(self, errors: list[Error]) -> Document:
        """Return the bodies of errors by their media types, with `anyOf` if there are several."""
        schemas: dict[str, list[Schema]] = defaultdict(list)
        examples: dict[str, Document] = defaultdict(dict)
        for code, status, _, example, form in errors:
            if form is None:
                media_type = "application/problem+json"
                schema, value = documents.make_ref("Problem"), example["value"]
            elif form.body is None:
                continue
            else:
                media_type = form.media_type
                schema, value = self.add_error_schema(code, status, example["value"], form)
            if schema not in schemas[media_type]:
                schemas[media_type].append(schema)
            examples[media_type][code] = {**example, "value": value}
        contents = {}
        for media_type, found in schemas.items():
            schema = found[0] if len(found) == 1 else {"anyOf": found}
            contents[media_type] = {"schema": schema, "examples": examples[media_type]}
        return contents

    def join_headers(self, errors: list[Error]) -> Document:
        """Return the header fields of the errors. A field is required if all errors have it."""
        fields = []
        for error in errors:
            if error.form:
                fields.append(build_fields(error.response, error.form, self.origin))
            else:
                fields.append(error.response["headers"])
        headers: Document = {}
        for each in fields:
            headers |= each
        for name, header in headers.items():
            if any(name not in each for each in fields):
                headers[name] = {**documents.follow_ref(header, self.headers), "required": False}
        return headers

    def add_error_schema(
        self, code: str, status: int, problem: Document, form: Form
    ) -> tuple[Schema, Any]:
        """Return the schema of an error and an example.

        The schema is the component `Error`, or if errors differ, a component like `NameTakenError`.
        """
        if (code, status) not in self.errors:
            schema = build_schema(form.body, self.profile)
            words = code.title().replace("_", "")
            name = "Error"
            if self.components.setdefault(name, schema) != schema:
                name = f"{words}Error"
                self.components[name] = schema
            text = bodies.Body(self.profile, form.body).fill(
                describe_error(problem, status, "shop")
            )
            example = json.loads(text.replace(bodies.BASE, "http://127.0.0.1:8080"))
            self.errors[code, status] = documents.make_ref(name), example
        return self.errors[code, status]
