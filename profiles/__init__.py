"""Profiles: JSON documents that say how a service responds, with markers like `{project.id}`.

Read docs/like.md first: it has a whole profile and its responses. Then:

- `markers`: the markers in a text, and the choices by a status.
- `profile`: the class `Profile` and its `Form`s; `check` rejects an invalid document.
- `bodies`: compiles a body to texts and slots, and fills the slots with the values of a record.
- `forms`: makes the responses; `stub/like.py`, and `finish` of `stub/steps.py`, call it.
- `request`: checks a request by the example of the profile.
- `ids`, `times`, `statuses`: read the examples of a profile.
- `schema`, `contract`: the schema of a body, and the OpenAPI contract with it.

`openapi` reads a contract, plain or of a profile, for the stub, verify and the program.
"""
