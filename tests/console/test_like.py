"""The console works with a service of any form: it creates, shows and follows what was sent."""

import re

import pytest
from playwright.sync_api import Page, expect

from profiles.profile import make_profile
from tests.console.conftest import Console
from tests.live import serving
from tests.profiles.conftest import like

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("console")]

FORM = {
    "observed_at": "2026-11-25",
    "statuses": {"run": ["in line", 'AT "WORK"', "Up"], "others": ["GONE"]},
    "list": {"body": [["{project.name}"]]},
    "create": {
        "request": {"new": {"label": "{project.name}", "region": "it's"}, "x": [1]},
        "status": 202,
        "body": ["{project.id}"],
    },
    "deployment": {"body": {"is": {"now": "{deployment.status}"}}},
    "errors": {"default": {"body": {"of": ["<b>{error.code}</b>", 1], "x": [{"y": "Busy!"}]}}},
    "ids": {"projects": 7040, "deployments": "{project.id}"},
}


# The body of an error, and what the console shows of it.
MESSAGES = [
    ({"id": "3b9edacb-0f5c-4a53-9a47-0d5fb9e3b1c2", "message": "no name"}, ": no name"),
    ({"title": "Bad", "documentation_url": "https://docs.example/errors/of/names"}, ": Bad"),
    ({"errors": [{"detail": "no name", "source": {"pointer": "/data/name"}}]}, ": no name"),
    ({"id": "3b9edacb-0f5c-4a53-9a47-0d5fb9e3b1c2", "why": "no name"}, ": no name"),
    ({"code": 5}, ""),
]


def test_the_message_of_an_error_is_shown_and_the_content_type_is_that_of_the_service(
    page: Page,
) -> None:
    for body, shown in MESSAGES:
        errors = {"default": {"body": body}, "unsupported_media_type": {}}
        form = {"observed_at": "2026-11-25", "create": {"body": 1, "content_type": "text/x"}}
        app = like(make_profile({**form, "errors": errors}, "service.json"))
        with serving(app) as port:
            console = Console(page, f"http://127.0.0.1:{port}")
            console.visit()
            name = page.get_by_label("Name", exact=True)
            name.fill("shop")
            console.press("Create project")
            expect(console.project_rows.first).to_contain_text("shop")
            name.fill("shop")
            console.press("Create project")
            alert = console.projects.get_by_role("alert")
            expect(alert).to_have_text(f"409 CONFLICT{shown}", ignore_case=True)


def test_a_project_is_created_and_its_deployment_followed(page: Page) -> None:
    profile = make_profile(FORM, "service.json")
    with serving(like(profile, pace=300)) as port:
        console = Console(page, f"http://127.0.0.1:{port}")
        console.visit()
        banner = console.page.get_by_role("banner")
        expect(banner).to_contain_text("like service.json, observed 2026-11-25")
        contract = console.tab("Contract")
        badge = contract.locator(".observed").nth(1)
        expect(badge).to_have_text("observed")
        short = contract.locator(".parts .fixed").first
        heights = [each.evaluate("badge => badge.offsetHeight") for each in (badge, short)]
        assert heights[0] == heights[1]  # one line
        name = console.page.get_by_label("Name", exact=True)
        name.fill("shop")
        console.press("Create project")
        row = console.project_rows.first
        expect(row).to_contain_text("shop")
        status = row.get_by_role("combobox")
        expect(status).to_have_value("in line")
        assert status.locator("option").all_text_contents() == [
            "◐ in line", '◐ AT "WORK"', "✓ Up", "◇ GONE",
        ]  # fmt: skip
        expect(console.rows.first).to_contain_text('"shop"')
        project_id = row.locator(".id").inner_text()
        console.send(f"/v1/deployments/{project_id}")
        row.locator(".deployment button").click()
        expect(console.inspector).to_contain_text(re.compile(r"200 in line"))
        for word, kind in (("Up", "succeeded"), ("GONE", "other"), ("in line", "building")):
            status.select_option(word)
            expect(status).to_have_attribute("data-status", kind)
        expect(console.inspector).to_contain_text("in line")
        name.fill("shop")
        console.press("Create project")
        expect(console.projects.get_by_role("alert")).to_have_text(
            "409 CONFLICT: <b>name_taken</b>", ignore_case=True
        )
