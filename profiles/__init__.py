"""Profiles: JSON documents that say how a service responds, with markers like `{project.id}`.

Read docs/like.md first: it has a whole profile and its responses. These modules make a response;
read their docstrings and classes, and keep the functions below a class for reference:

- `markers`: the markers in a text, and the choices by a status.
- `profile`: the class `Profile` and its `Form`s.
- `request`: checks a request by the example of the profile.
- `bodies`: compiles a body to texts and slots, and fills the slots with the values of a record.
- `forms`: makes the responses; `stub/like.py`, and `finish` of `stub/steps.py`, call it.

Read the others when you change them:

- `check`, `profile.json`: the errors of a document, and the schema of a profile.
- `ids`, `times`, `statuses`: read the examples of a profile.
- `schema`, `contract`: the schema of a body, and the OpenAPI contract with it.
- `openapi`: reads a contract, plain or of a profile, for the stub, verify and the program.
"""
