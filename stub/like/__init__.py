"""What makes the stub like a certain service: its bodies, with markers for what varies.

`profile` reads the document, `check` finds what is wrong in it, and `markers` are the texts for
which a value stands. `bodies` fills a body, `service` gives the responses to requests, and
`contract` says in OpenAPI what they are.
"""
