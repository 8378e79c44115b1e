"""The plugin of pytest: the options of the program that its fixtures start."""

import os
from pathlib import Path
from typing import Any

import pytest

FIXTURES = f"{__package__}.docs.fixtures.stub_fixture"
# What the fixture file has as `Options`, with the type of the option in an ini file.
ROWS = {
    "cors_origin": ("linelist", "origin whose pages may call; repeatable"),
    "delay": ("string", "seconds by which responses are late"),
    "empty": ("bool", "start without the sample"),
    "freeze": ("string", "RFC 3339 time at which all clocks stand still"),
    "ids_seed": ("string", "seed of the ids"),
    "like": ("file", "profile of a service: respond with its bodies"),
    "outcome": ("linelist", "last status of new deployments, or PATTERN=STATUS; repeatable"),
    "pace": ("string", "seconds a deployment is queued, then building"),
    "seed": ("file", "JSON file to start from, not the sample"),
    "strict": ("bool", "reject query parameters and members that are not in the contract"),
    "tick": ("string", "seconds by which each read of a deployment moves the clock"),
}


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options, and the fixtures unless a plugin that -p names has them, as a copy does."""
    group = parser.getgroup("stub", "the program that the fixture `stub` starts")
    for name, (kind, text) in ROWS.items():
        option = f"--stub-{name.replace('_', '-')}"
        if kind == "bool":
            group.addoption(option, action="store_true", default=None, help=text)
            parser.addini(f"stub_{name}", text, type="bool", default=False)
        elif kind == "linelist":
            group.addoption(option, action="append", metavar="TEXT", help=text)
            parser.addini(f"stub_{name}", f"{text}, one to a line", type="linelist")
        else:
            group.addoption(option, metavar=kind.upper(), help=text)
            note = "; a path is relative to this file" if kind == "file" else ""
            parser.addini(f"stub_{name}", text + note)
    for plugin in pluginmanager.get_plugins():
        if hasattr(plugin, "stub") and hasattr(plugin, "stub_program"):
            return
    pluginmanager.import_plugin(FIXTURES)


def pytest_configure(config: pytest.Config) -> None:
    """Reject what no program can be started with, before any test runs."""
    options = given_options(config)
    if options and os.environ.get("STUB_URL"):
        from .docs.fixtures.stub_fixture import words_of

        without = [f"--stub-{name.replace('_', '-')}" for name in options]
        empty = [
            f"-o stub_{name}=no" if ROWS[name][0] == "bool" else f"-o stub_{name}="
            for name in options
        ]
        raise pytest.UsageError(
            f"the program at STUB_URL runs already: start it with `{' '.join(words_of(options))}`,"
            f" and pytest without {', '.join(without)}; for those of an ini file add"
            f" `{' '.join(empty)}`"
        )


def given_options(config: pytest.Config) -> dict[str, Any]:
    """The options of the program, with absolute paths. Raises `UsageError`."""
    options = {}
    for name, (kind, _) in ROWS.items():
        value = given_file(config, name) if kind == "file" else given(config, name)
        if value:
            options[name] = value
    return options


def given(config: pytest.Config, name: str) -> Any:
    """The value of an option, or else that of the ini file, which may be pyproject.toml."""
    value = config.getoption(f"stub_{name}")
    return config.getini(f"stub_{name}") if value is None else value


def given_file(config: pytest.Config, name: str) -> Path | None:
    """The file of an option, or else that of the ini file."""
    value = given(config, name)
    source = f"--stub-{name}"
    folder = config.invocation_params.dir
    if config.getoption(f"stub_{name}") is None:
        if not value:
            return None
        ini = config.inipath or folder / "pytest.ini"
        source = f"stub_{name} of {ini.name}"
        folder = ini.parent
    path: Path = folder / value
    if not path.is_file():
        raise pytest.UsageError(f"{source}: there is no file {path}")
    return path
