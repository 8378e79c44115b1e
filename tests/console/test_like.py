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


def test_a_project_is_created_and_its_deployment_followed(page: Page) -> None:
    profile = make_profile(FORM, "service.json")
    with serving(like(profile, pace=300, outcomes=[("*-gone", "GONE")])) as port:
        console = Console(page, f"http://127.0.0.1:{port}")
        console.visit()
        banner = console.page.get_by_role("banner")
        expect(banner).to_contain_text("like service.json, observed 2026-11-25")
        contract = console.tab("Contract")
        expect(contract.locator(".observed").nth(1)).to_have_text("observed")
        name = console.page.get_by_label("Name", exact=True)
        name.fill("mine")
        (option,) = console.page.locator("#names option").all()
        assert option.get_attribute("value") == "mine-gone"
        assert option.get_attribute("label") == "ends as GONE"
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
        name.fill("shop")
        console.press("Create project")
        expect(console.projects.get_by_role("alert")).to_have_text(
            "409 CONFLICT: <b>name_taken</b>", ignore_case=True
        )
