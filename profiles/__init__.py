"""A service's responses as a document: bodies with markers for what varies.

`profile` reads the document, `check` finds what is wrong in it. `markers`, `ids` and `times` say
what may vary. `bodies` fills a body, `service` gives the responses to requests, `request` reads a
creation, and `contract` says in OpenAPI what the responses are. `openapi` reads a contract.
"""
