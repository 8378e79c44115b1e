"""The contract of a profile: the schemas and the responses that its bodies have."""

import json
from collections.abc import Iterator
from typing import Any

from web.routing import CREATED
from web.validation import pointer

from ..contract import ELSEWHERE
from .bodies import Compiler
from .markers import NAME, Path, is_choice, places_of_projects, plain, whole_marker
from .profile import Form, Profile
from .schema import Schema, merged, observed_by, schema_of, status_texts
from .service import array_of_projects, subject_of_error

COMPONENTS = "#/components/schemas/"
# The codes that the server sends by itself, in its own form.
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
        self.components: Document = document["components"]["schemas"]

    def change(self) -> None:
        info = self.document["info"]
        info["description"] = (
            f"The parts with `observed` are as a service was on {self.like.observed_at}; they "
            f"overrule this text.\n\n{info['description']}"
        )
        self.change_own_forms()
        self.change_request()
        projects = self.document["paths"]["/v1/projects"]
        self.change_errors()
        self.change_list(projects["get"]["responses"])
        self.change_creation(projects["post"]["responses"])
        self.change_deployment()

    # What the bodies have that the profile leaves out

    def change_own_forms(self) -> None:
        """Give our own records the statuses, the ids and the times of the profile."""
        like = self.like
        own = {name: self.components[name]["properties"] for name in ("Project", "Deployment")}
        status = own["Deployment"]["status"]
        if like.words:
            status |= status_texts(like)
        self.document["x-statuses"] = {
            "known": status["examples"],
            "running": status["x-running"],
        }
        kinds = {
            "projects": [own["Project"]["id"], own["Deployment"]["project_id"]],
            "deployments": [own["Project"]["latest_deployment_id"], own["Deployment"]["id"]],
        }
        for kind, places in kinds.items():
            if kind in like.ids:
                for place in places:
                    self.change_own_id(place, kind)
        if "times" in like.document:
            for record in own.values():
                record["created_at"] |= self.seen

    def change_own_id(self, schema: Schema, kind: str) -> None:
        schema |= self.seen
        if not self.like.has_opaque_ids(kind):
            del schema["x-grease"]
        if self.like.has_integers(kind):
            for each in schema.get("anyOf", [schema]):
                if each["type"] == "string":
                    each["type"] = "integer"
            schema.pop("examples")

    # The three operations

    def change_list(self, responses: Document) -> None:
        form = self.like.form("list")
        if form is None:
            return
        items = array_of_projects(form.body)
        # The contract's own project stays where only the list has another form.
        name = "Project" if "create" in self.like.document else "ListedProject"
        schema = schema_of(form.body, self.like, item=items)
        order = "Newest first." if self.like.is_newest_first else "Oldest first."
        listed = schema
        for member in next(places_of_projects(form.body)):
            listed = listed["properties"][plain(str(member))]
        self.components[name] = listed["items"]
        listed["items"] = {"$ref": f"{COMPONENTS}{name}"}
        listed["description"] = order
        self.components["ProjectList"] = schema
        self.change_response(responses["200"], form, "ProjectList")

    def change_creation(self, responses: Document) -> None:
        form = self.like.form("create")
        if form is None:
            return
        response = responses.pop(str(CREATED))
        status = str(form.status or CREATED)
        schema = schema_of(form.body, self.like)
        name = "CreatedProject"
        if schema == self.components["Project"]:
            name = "Project"
        self.components[name] = schema
        self.change_response(response, form, name)
        place = self.place_of_deployment(form.body)
        if place is None:
            del response["links"]
        else:
            parameters = response["links"]["followDeployment"]["parameters"]
            parameters["id"] = f"$response.body#{pointer(*place)}"
        errors = dict(responses)
        responses.clear()
        responses.update({status: response, **errors})

    def place_of_deployment(self, body: Any) -> Path | None:
        """Where in the body of a creation the id of its deployment stands, if it does."""
        names = ["deployment.id"]
        if "same" in self.like.ids.get("deployments", {}):
            names.append("project.id")
        return next((path for path, name in whole_markers(body) if name in names), None)

    def change_deployment(self) -> None:
        form = self.like.form("deployment")
        if form is None:
            return
        self.components["Deployment"] = schema_of(form.body, self.like, is_deployment=True)
        operation = self.document["paths"]["/v1/deployments/{id}"]["get"]
        for parameter in operation["parameters"]:
            del parameter["examples"]
        self.change_response(operation["responses"]["200"], form, "Deployment")

    def change_response(self, response: Document, form: Form, name: str) -> None:
        """Give a response the form of a profile, whose schema is the component of this name."""
        schema = {"$ref": f"{COMPONENTS}{name}"}
        response |= self.seen
        response["content"] = {media_type_of(form): {"schema": schema}}
        response["headers"] = self.header_fields(response, form)

    def header_fields(self, response: Document, form: Form) -> Document:
        """The fields of a response of the contract, and those of a form, which replace them."""
        schema = {"type": "string", **self.seen}
        replaced = {name.lower() for name in form.headers}
        own = {
            name: field
            for name, field in response["headers"].items()
            if name.lower() not in replaced
        }
        of_form = {name: {"required": True, "schema": schema, **self.seen} for name in form.headers}
        return own | of_form

    # The request

    def change_request(self) -> None:
        if "create" not in self.like.document:
            return
        post = self.document["paths"]["/v1/projects"]["post"]
        content = post["requestBody"]["content"]["application/json"]
        example = self.like.request
        own = self.components["ProjectInput"]
        if "request" in self.like.creation:
            name = own["properties"]["name"]
            self.components["ProjectInput"] = self.request_schema(example, name)
            post["requestBody"] |= self.seen
        elif self.like.creation.get("optional"):
            own |= {"required": [], **self.seen}
        content["examples"] = {"observed": {"value": with_name(example)}}

    def request_schema(self, example: Any, name: Schema) -> Schema:
        """The schema of a request: required is the way to the name alone."""
        if example == NAME:
            return name
        if not isinstance(example, dict):
            return schema_of(example, self.like)
        properties = {}
        required = []
        for key, each in example.items():
            has_name = contains_name(each)
            properties[key] = self.request_schema(each, name)
            if has_name and not self.like.creation.get("optional"):
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
        """Give each error the form that the profile has for its code."""
        if "errors" not in self.like.document:
            return
        named = self.document["components"]["responses"]
        original = {name: dict(response) for name, response in named.items()}
        for item in self.document["paths"].values():
            for operation in item.values():
                if "responses" in operation:
                    operation["responses"] = self.responses_of(operation["responses"], original)
        own = {status: original[name] for status, name in ELSEWHERE.items()}
        self.document["x-elsewhere"] = self.responses_of(own, original)
        named.clear()
        for status, response in own.items():
            alone = self.responses_of({status: response}, original)
            named[ELSEWHERE[status]] = next(iter(alone.values()))

    def responses_of(self, responses: Document, named: Document) -> Document:
        """The responses by status, as the forms of their codes have them."""
        found: Document = {}
        errors: dict[str, list[Document]] = {}  # by status, those of the contract's own first
        moved: list[tuple[str, Document]] = []
        for status, response in responses.items():
            if status < "400":
                found[status] = response
                continue
            if "$ref" in response:
                response = named[response["$ref"].rpartition("/")[2]]
            for new_status, changed in self.forms_of(int(status), response):
                if new_status == int(status):
                    errors.setdefault(status, []).append(changed)
                else:
                    moved.append((str(new_status), changed))
        for status, changed in moved:
            errors.setdefault(status, []).append(changed)
        for status in sorted(errors):
            found[status] = self.merged_response(errors[status])
        return found

    def forms_of(self, status: int, response: Document) -> Iterator[tuple[int, Document]]:
        """The responses that one of the contract becomes, each with its status."""
        (content,) = response["content"].values()
        for code, example in content["examples"].items():
            form = self.like.error_form(code)
            if form:
                new_status = form.status or status
                yield new_status, self.error_response(response, code, example, form, new_status)
        kept = {
            code: example
            for code, example in content["examples"].items()
            if code in OF_SERVER or self.like.error_form(code) is None
        }
        if kept:
            own = {**content, "examples": kept}
            yield status, {**response, "content": {"application/problem+json": own}}

    def error_response(
        self, response: Document, code: str, example: Document, form: Form, status: int
    ) -> Document:
        subject = subject_of_error(example["value"], status)
        filled = json.loads(self.compiler.body(form.body).fill(subject))
        content = {
            "schema": self.error_schema(form, code),
            "examples": {code: {**example, "value": filled}},
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
        words = "".join(word.capitalize() for word in code.split("_"))
        for name in ("Error", f"{words}Error"):
            if self.components.setdefault(name, schema) == schema:
                return {"$ref": f"{COMPONENTS}{name}"}
        return schema

    def merged_response(self, responses: list[Document]) -> Document:
        """The response that has the content of one of these."""
        first, *others = responses
        if not others:
            return first
        texts = dict.fromkeys(each["description"] for each in responses)
        content: Document = {}
        for each in responses:
            for media_type, added in each["content"].items():
                content[media_type] = self.merged_content(content.get(media_type), added)
        headers: Document = {}
        for each in responses:
            for name, header in each["headers"].items():
                if all(name in other["headers"] for other in responses):
                    headers[name] = header
                else:
                    headers[name] = {**self.resolve_header(header), "required": False}
        merged_one = {**first, "description": " ".join(texts), "headers": headers}
        merged_one["content"] = content
        if not all("x-stub-only" in each for each in responses):
            merged_one.pop("x-stub-only", None)
        return merged_one

    def merged_content(self, content: Document | None, added: Document) -> Document:
        if content is None:
            return added
        schema = content["schema"]
        if schema != added["schema"]:
            schema = merged([self.resolve(schema), self.resolve(added["schema"])])
        return {"schema": schema, "examples": {**content["examples"], **added["examples"]}}

    def resolve(self, schema: Schema) -> Schema:
        name = schema.get("$ref", "").rpartition("/")[2]
        found: Schema = self.components[name] if name else schema
        return found

    def resolve_header(self, header: Document) -> Document:
        name = header.get("$ref", "").rpartition("/")[2]
        found: Document = self.document["components"]["headers"][name] if name else header
        return found


def media_type_of(form: Form) -> str:
    """The media type without its parameters."""
    return form.content_type.partition(";")[0].strip().lower()


def contains_name(example: Any) -> bool:
    if isinstance(example, dict):
        return any(contains_name(each) for each in example.values())
    return bool(example == NAME)


def with_name(example: Any) -> Any:
    """A request with the name of the example."""
    if isinstance(example, dict):
        return {key: with_name(each) for key, each in example.items()}
    return EXAMPLE_NAME if example == NAME else example


def whole_markers(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The markers that stand alone in a body, outside of choices, and their paths."""
    name = whole_marker(value)
    if name:
        yield path, name
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from whole_markers(each, (*path, index))
    elif isinstance(value, dict) and not is_choice(value):
        for key, each in value.items():
            yield from whole_markers(each, (*path, plain(key)))
