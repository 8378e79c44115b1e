"""Profiles: JSON documents that say how a service responds, with markers like `{project.id}`.

`profile` reads a document, and `check` finds its errors. `markers`, `ids`, `times` and `statuses`
read the parts that vary. `bodies` fills a body, `forms` makes the responses, and `request` reads
the request of a creation. `contract` writes the responses into the OpenAPI contract, and `openapi`
reads a contract.
"""
