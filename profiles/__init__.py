"""Profiles: JSON documents that say how a service responds, with markers like `{project.id}`.

A reader can take the modules in this order:

- `markers`: the markers in a text, and the choices by a status.
- `ids`, `times`, `statuses`: the parts of a profile that are examples.
- `profile`: the class `Profile`, which `check` guards against invalid documents.
- `request`: the example of a request, and the check of the requests by it.
- `bodies`: a body is compiled to texts and slots, and filled with the values of a record.
- `forms`: a form is how a response looks; its responses are made from records and errors.
- `schema`, `contract`: the schema of a body, and the OpenAPI contract with these schemas.

`openapi` reads a contract, plain or of a profile, for the stub, verify and the program.
"""
