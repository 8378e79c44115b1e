"""What is guessed where no response says it: lists of words, and numbers. A hint beats them."""

import re

# Words of members' names, in lower case.
PROSE_NAMES = {"message", "detail", "details", "description", "reason", "text", "log", "title"}
COUNT_WORDS = {"count", "total", "length"}
NO_COUNT_WORDS = {"page", "pages", "limit", "per", "max", "ms", "time", "seconds", "duration"}
LAST_WORDS = {"last", "next", "after", "end", "cursor"}
CODE_WORDS = {"code", "type", "kind", "error", "errors", "status", "reason", "resource", "name"}

# Signs of another page.
NEXT_WORDS = {"next", "more", "cursor", "cursors", "continuation"}
PAGE_WORDS = {"pages", "page"}
SIZE_WORDS = {"per", "size", "limit", "max"}  # of a page

COMPUTED = re.compile(
    "etag|last-modified|age|expires|date|warning|via|retry-after|set-cookie2?|server-timing|b3"
    "|.*(digest|md5|hash|checksum|signature|trace|rate-?limit|quota).*|x-b3-.*|x-amz.*|cf-.*"
    "|.*(request|correlation|transaction|span|invocation|session|audit)-?id.*|x-vercel-id"
    "|x-(runtime|response-time|served-by|timer|cache.*|process-time|duration)"
    "|nel|report-to|alt-svc",
    re.IGNORECASE,
)
"""Header fields that are computed for each response."""

SHORTEST_PART = 3  # characters of a value that is found inside of a text
SHORTEST_NUMBER = 5
LEAST_NAME = 5  # characters of a value that is found in the name of a member
MAX_READINGS = 20  # of a kind: the first half of them, and the last
MAX_STATUS = 64  # characters
MAX_ID = 1000
MINUTE = 60.0  # by which clocks may differ
LEAST_NUMBER = 1000  # of one that may say whose it is
