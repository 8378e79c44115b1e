"""The plugin of pytest: the options of the program that its fixtures start."""

import os
from pathlib import Path

import pytest

FILES = {
    "like": "profile of a service: respond with its bodies",
    "seed": "JSON file to start from, not the sample",
}
STRICT = "reject query parameters and members that are not in the contract"


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options, and the fixtures unless a plugin that -p names has them, as a copy does."""
    group = parser.getgroup("stub", "the program that the fixture `stub` starts")
    for name, text in FILES.items():
        group.addoption(f"--stub-{name}", metavar="FILE", help=text)
        parser.addini(f"stub_{name}", f"{text}; a path is relative to this file")
    group.addoption("--stub-strict", action="store_true", help=STRICT)
    parser.addini("stub_strict", STRICT, type="bool", default=False)
    fixtures = [getattr(each, "stub", None) for each in pluginmanager.get_plugins()]
    if not any(map(callable, fixtures)):
        pluginmanager.import_plugin(f"{__package__}.pytest_plugin")


def pytest_configure(config: pytest.Config) -> None:
    """Reject what no program can be started with, before any test runs."""
    words = option_words(config)
    if words and os.environ.get("STUB_URL"):
        raise pytest.UsageError(
            f"the program at STUB_URL runs already: start it with `{' '.join(words)}`, and pytest"
            " without --stub-like, --stub-seed and --stub-strict; add `-o stub_like= -o stub_seed="
            " -o stub_strict=no` for those of an ini file"
        )


def option_words(config: pytest.Config) -> list[str]:
    """The options of the program, with absolute paths. Raises `UsageError`."""
    words = []
    for name in FILES:
        if path := given_file(config, name):
            words += [f"--{name}", str(path)]
    if config.getoption("stub_strict") or config.getini("stub_strict"):
        words.append("--strict")
    return words


def given_file(config: pytest.Config, name: str) -> Path | None:
    """The file of an option, or else that of the ini file, which may be pyproject.toml."""
    source = f"--stub-{name}"
    folder = config.invocation_params.dir
    given = config.getoption(f"stub_{name}")
    if given is None:
        given = config.getini(f"stub_{name}")
        if not given:
            return None
        ini = config.inipath or folder / "pytest.ini"
        source = f"stub_{name} of {ini.name}"
        folder = ini.parent
    path: Path = folder / given
    if not path.is_file():
        raise pytest.UsageError(f"{source}: there is no file {path}")
    return path
