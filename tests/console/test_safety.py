"""What a client sent is text; the token stays in the page's memory; nothing is loaded elsewhere."""

import json
import re

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.conftest import SAMPLE_SEED, make_stub
from tests.console.conftest import Console
from tests.live import serving
from tests.wire import call

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("console")]

MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>&lt;b&gt;"
SECRET = "s3cret+to/ken=="
ODD_NAMES = {
    "\u202egnp.exe": "⟨U+202E⟩gnp.exe",
    "a\u2028b\u00a0c": "a⟨U+2028⟩b⟨U+00A0⟩c",
    "pay\u200bments\u3164": "pay⟨U+200B⟩ments⟨U+3164⟩",
    "👩\u200d🚀 ❤\ufe0f é": "👩\u200d🚀 ❤\ufe0f é",
}


def test_what_a_client_sent_is_visible_text_and_no_script_runs(console: Console) -> None:
    page = console.page
    before = page.locator("img, script, b").count()
    console.send("/v1/projects", body=json.dumps({"name": MARKUP, MARKUP: 1}).encode())
    console.send("/v1/%3Cimg%20src=x%20onerror=alert(3)%3E?%3Cb%3E=1")
    expect(console.project_rows.first.get_by_role("cell").first).to_have_text(MARKUP)
    expect(console.rows.first).to_contain_text("/v1/<img src=x onerror=alert(3)>")
    expect(console.tab("Coverage")).to_contain_text("body member <img src=x")
    console.rows.last.click()
    expect(console.inspector).to_contain_text("<script>alert(2)</script>")
    assert page.locator("img, script, b").count() == before
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'bad = 1'}))"
    )
    assert page.wait_for_function("reports.length && reports.splice(0)").json_value() == ["inline"]
    assert page.evaluate("typeof bad") == "undefined"
    for name in ODD_NAMES:
        console.send("/v1/projects", body=json.dumps({"name": name}).encode())
    expect(console.project_rows).to_have_count(4 + len(ODD_NAMES))
    shown = console.project_rows.locator(".name").all_text_contents()
    assert shown[: len(ODD_NAMES)] == [*ODD_NAMES.values()][::-1]
    console.press("Close")
    page.mouse.move(1, 1)
    console.send("/v1/projects", body=b"\x15\x1b[2J\xe2\x80\xae")
    console.rows.filter(has_text="malformed_json").click()
    expect(console.tab("Request")).to_contain_text("␕␛[2J⟨U+202E⟩")


def test_a_token_of_the_fragment_or_typed_is_kept_by_the_tab_alone(context: BrowserContext) -> None:
    with serving(make_stub(tokens=[SECRET], seed=SAMPLE_SEED)) as port:
        url = f"http://127.0.0.1:{port}"
        call(url, "/v1/deployments/x", token=f"{SECRET}.job-42")
        seen: list[str] = []
        context.on("request", lambda request: seen.append(request.url))
        for given in ("fragment", "typed"):
            page = context.new_page()  # which knows nothing of what another one was given
            console = Console(page, url)
            page.goto(url)
            expect(console.alert).to_contain_text("The token is rejected.")
            expect(console.alert).to_contain_text("401 Unauthorized")
            token = page.get_by_label("Token")
            expect(token).to_have_attribute("aria-invalid", "true")
            expect(token).to_have_accessible_description(re.compile("is rejected"))
            expect(console.status).to_have_text("Not connected")
            assert page.get_by_role("region").count() == 0
            if given == "typed":
                token.fill(f"{SECRET}.job-42")
                console.press("Connect")
                expect(token).to_have_value("")
            else:
                page.evaluate(f"location.hash = '#token={SECRET}&world=job-42'")
                expect(console.status).to_have_text("Connected")
                page.reload()
            expect(console.status).to_have_text("Connected")
            expect(page.get_by_role("textbox", name="World")).to_have_value("job-42")
            expect(console.rows).to_have_count(1)
            assert page.url == f"{url}/"
            assert SECRET not in page.content()
        assert not [each for each in seen if SECRET in each.partition("#")[0]]
