"""The contract of a profile: the schemas and the responses that its bodies have."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from web.routing import CREATED
from web.validation import pointer

from ..contract import ELSEWHERE
from ..documents import follow
from .bodies import Compiler, Subject
from .markers import (
    CHOICE,
    NAME,
    place_of_name,
    places_of_projects,
    plain,
    values_below,
    whole_marker,
)
from .profile import Form, Profile
from .schema import Schema, merged, observed_by, schema_of, status_texts
from .service import subject_of_error

# The codes that the server sends by itself, in its own form, at least at times.
OF_SERVER = (
    "malformed_request",
    "host_not_allowed",
    "headers_too_large",
    "body_too_large",
    "internal_error",
)
EXAMPLE_NAME = "shop"

Document = dict[str, Any]


def observed(openapi: bytes, like: Profile | None) -> bytes:
    """The contract with the bodies of a profile, and with where each part of it is from."""
    if like is None:
        return openapi
    document = json.loads(openapi)
    ObservedContract(document, like).change()
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()


class ObservedContract:
    """Changes a contract to that of a profile."""

    def __init__(self, document: Document, like: Profile) -> None:
        self.document = document
        self.like = like
        self.seen = observed_by(like)
        self.compiler = Compiler(like)
        components = document["components"]
        self.components: Document = components["schemas"]
        self.headers: Document = components["headers"]
        self.responses: Document = components["responses"]
        self.own_responses = dict(self.responses)

    def change(self) -> None:
        info = self.document["info"]
        info["description"] = (
            f"The parts with `observed` are as a service was on {self.like.observed_at}; they "
            f"overrule this text.\n\n{info['description']}"
        )
        paths = self.document["paths"]
        projects = paths["/v1/projects"]
        deployment = paths["/v1/deployments/{id}"]
        self.change_own_forms()
        self.change_request(projects["post"])
        self.change_errors()
        self.change_list(projects["get"])
        self.change_creation(projects["post"])
        self.change_deployment(deployment["get"])

    # What the bodies have that the profile leaves out

    def change_own_forms(self) -> None:
        """Give our own records the statuses, the ids and the times of the profile."""
        like = self.like
        project = self.components["Project"]["properties"]
        deployment = self.components["Deployment"]["properties"]
        status = deployment["status"]
        if like.words:
            status.update(status_texts(like))
        self.document["x-statuses"] = {
            "known": status["examples"],
            "running": status["x-running"],
        }
        self.change_own_id(project["id"], "projects")
        self.change_own_id(deployment["project_id"], "projects")
        self.change_own_id(project["latest_deployment_id"], "deployments")
        self.change_own_id(deployment["id"], "deployments")
        if "times" in like.document:
            project["created_at"].update(self.seen)
            deployment["created_at"].update(self.seen)

    def change_own_id(self, schema: Schema, kind: str) -> None:
        like = self.like
        if kind not in like.ids:
            return
        schema.update(self.seen)
        if not like.has_opaque_ids(kind):
            del schema["x-grease"]
        if like.has_integers(kind):
            for each in schema.get("anyOf", [schema]):
                if each["type"] == "string":
                    each["type"] = "integer"
            del schema["examples"]

    # The three operations

    def change_list(self, operation: Document) -> None:
        like = self.like
        form = like.form("list")
        if form is None:
            return
        # The contract's own project stays where only the list has another form.
        name = "Project" if "create" in like.document else "ListedProject"
        schema = schema_of(form.body, like)
        listed = schema
        for member in next(places_of_projects(form.body)):
            properties = listed["properties"]
            listed = properties[plain(str(member))]
        self.components[name] = listed["items"]
        listed["items"] = ref_to(name)
        listed["x-grease"] = ["list-order"]
        listed["description"] = "Newest first." if like.is_newest_first else "Oldest first."
        self.components["ProjectList"] = schema
        responses = operation["responses"]
        self.change_response(responses["200"], form, "ProjectList")

    def change_creation(self, operation: Document) -> None:
        form = self.like.form("create")
        if form is None:
            return
        responses = operation["responses"]
        response = responses.pop(str(CREATED))
        schema = schema_of(form.body, self.like)
        is_project = schema == self.components["Project"]
        name = "Project" if is_project else "CreatedProject"
        self.components[name] = schema
        self.change_response(response, form, name)
        place = self.place_of_deployment(form.body)
        if place is None:
            del response["links"]
        else:
            parameters = response["links"]["followDeployment"]["parameters"]
            parameters["id"] = f"$response.body#{place}"
        status = form.status or CREATED
        operation["responses"] = {str(status): response, **responses}

    def place_of_deployment(self, body: Any) -> str | None:
        """The JSON pointer of the deployment's id in the body of a creation, if it is there."""
        names = ["deployment.id"]
        form = self.like.ids.get("deployments", {})
        if "same" in form:
            names.append("project.id")
        for path, value in values_below(body):
            if whole_marker(value) in names and CHOICE not in path:
                steps = [plain(str(step)) for step in path]
                return pointer(*steps)
        return None

    def change_deployment(self, operation: Document) -> None:
        form = self.like.form("deployment")
        if form is None:
            return
        self.components["Deployment"] = schema_of(form.body, self.like, is_deployment=True)
        for parameter in operation["parameters"]:
            del parameter["examples"]
        responses = operation["responses"]
        self.change_response(responses["200"], form, "Deployment")

    def change_response(self, response: Document, form: Form, name: str) -> None:
        response.update(self.seen)
        content = {"schema": ref_to(name)}
        response["content"] = {media_type_of(form): content}
        response["headers"] = self.header_fields(response, form)

    def header_fields(self, response: Document, form: Form) -> Document:
        """The fields of a response of the contract, and those of a form, which replace them."""
        replaced = [name.lower() for name in form.headers]
        schema = {"type": "string", **self.seen}
        own = response["headers"]
        fields = {name: own[name] for name in own if name.lower() not in replaced}
        for name in form.headers:
            fields[name] = {"required": True, "schema": schema, **self.seen}
        return fields

    # The request

    def change_request(self, operation: Document) -> None:
        like = self.like
        if "create" not in like.document:
            return
        example = like.request
        own = self.components["ProjectInput"]
        body = operation["requestBody"]
        if like.has_own_request:
            properties = own["properties"]
            schema = self.request_schema(example, properties["name"])
            self.components["ProjectInput"] = schema
            body.update(self.seen)
        elif like.has_optional_name:
            own.update(self.seen)
            own["required"] = []
        value = self.filled(example, {"project.name": EXAMPLE_NAME})
        content = body["content"]["application/json"]
        content["examples"] = {"observed": {"value": value}}

    def filled(self, body: Any, subject: Subject) -> Any:
        fill = self.compiler.body(body)
        return json.loads(fill(subject))

    def request_schema(self, example: Any, name: Schema) -> Schema:
        """The schema of a request: required is the way to the name alone."""
        if example == NAME:
            return name
        if not isinstance(example, dict):
            return schema_of(example, self.like)
        properties = {}
        required = []
        for key, each in example.items():
            properties[key] = self.request_schema(each, name)
            if any(place_of_name({key: each})) and not self.like.has_optional_name:
                required.append(key)
        return {
            "type": "object",
            "required": required,
            "properties": properties,
            "additionalProperties": True,
            **self.seen,
        }

    # Errors

    def change_errors(self) -> None:
        if "errors" not in self.like.document:
            return
        for item in self.document["paths"].values():
            for operation in item.values():
                if "responses" in operation:
                    responses = operation["responses"]
                    operation["responses"] = self.responses_of(responses)
        self.responses.clear()
        elsewhere = {}
        for status, name in ELSEWHERE.items():
            own = {status: self.own_responses[name]}
            elsewhere.update(own)
            changed = self.responses_of(own)
            self.responses[name], *_ = changed.values()
        self.document["x-elsewhere"] = self.responses_of(elsewhere)

    def responses_of(self, responses: Document) -> Document:
        """The errors have the forms of the profile; those from another status come last."""
        found: Document = {}
        kept: dict[int, list[Document]] = defaultdict(list)  # by status
        moved: dict[int, list[Document]] = defaultdict(list)
        for text, response in responses.items():
            if text < "400":
                found[text] = response
                continue
            status = int(text)
            own = follow(response, self.own_responses)
            for new_status, changed in self.forms_of(status, own):
                group = kept if new_status == status else moved
                group[new_status].append(changed)
        for status in sorted({*kept, *moved}):
            alike = kept[status] + moved[status]
            found[str(status)] = self.merged_response(alike)
        return found

    def forms_of(self, status: int, response: Document) -> Iterator[tuple[int, Document]]:
        """The responses that one of the contract becomes, each with its status."""
        (content,) = response["content"].values()
        kept = {}
        for code, example in content["examples"].items():
            form = self.like.error_form(code)
            if form:
                new_status = form.status or status
                yield new_status, self.error_response(response, code, example, form, new_status)
            if form is None or code in OF_SERVER:
                kept[code] = example
        if kept:
            own = {**content, "examples": kept}
            yield status, {**response, "content": {"application/problem+json": own}}

    def error_response(
        self, response: Document, code: str, example: Document, form: Form, status: int
    ) -> Document:
        subject = subject_of_error(example["value"], status)
        filled = {**example, "value": self.filled(form.body, subject)}
        content = {
            "schema": self.error_schema(form, code),
            "examples": {code: filled},
        }
        return {
            **response,
            **self.seen,
            "headers": self.header_fields(response, form),
            "content": {media_type_of(form): content},
        }

    def error_schema(self, form: Form, code: str) -> Schema:
        """The component of the schema of an error: `Error`, or one that is named by its code."""
        schema = schema_of(form.body, self.like)
        words = code.title().replace("_", "")
        for name in ("Error", f"{words}Error"):
            known = self.components.setdefault(name, schema)
            if known == schema:
                return ref_to(name)
        return schema

    def merged_response(self, responses: list[Document]) -> Document:
        descriptions = dict.fromkeys(each["description"] for each in responses)
        response = {
            **responses[0],
            "description": " ".join(descriptions),
            "headers": self.merged_headers(responses),
            "content": self.merged_contents(responses),
        }
        if not all("x-stub-only" in each for each in responses):
            response.pop("x-stub-only", None)
        return response

    def merged_headers(self, responses: list[Document]) -> Document:
        """The fields of all responses; required are those that each has."""
        headers: Document = {}
        for response in responses:
            headers |= response["headers"]
        for name, header in headers.items():
            if any(name not in response["headers"] for response in responses):
                headers[name] = {**follow(header, self.headers), "required": False}
        return headers

    def merged_contents(self, responses: list[Document]) -> Document:
        contents: Document = {}
        for response in responses:
            for media_type, added in response["content"].items():
                content = contents.setdefault(media_type, {**added, "examples": {}})
                content["examples"].update(added["examples"])
                first = content["schema"]
                other = added["schema"]
                if first != other:
                    schemas = [follow(each, self.components) for each in (first, other)]
                    content["schema"] = merged(schemas)
        return contents


def ref_to(component: str) -> Schema:
    return {"$ref": f"#/components/schemas/{component}"}


def media_type_of(form: Form) -> str:
    media_type, _, _ = form.content_type.partition(";")
    return media_type.strip().lower()
