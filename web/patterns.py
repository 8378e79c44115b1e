"""Shell patterns, which name projects and findings."""

from fnmatch import fnmatchcase


def matches(pattern: str, text: str) -> bool:
    """Whether the text is the pattern itself, or the shell pattern matches it."""
    return pattern == text or fnmatchcase(text, pattern)
