"""Matches shell patterns, such as `demo-*`, with the names of projects and findings."""

from fnmatch import fnmatchcase


def matches(pattern: str, text: str) -> bool:
    """Return whether the pattern matches the text, or is the same text: `a[1]` matches `a[1]`."""
    return pattern == text or fnmatchcase(text, pattern)
