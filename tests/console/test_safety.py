"""What a client sent is text; the token stays in the page's memory; nothing is loaded elsewhere."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app import create_app
from tests.conftest import SAMPLE_SEED
from tests.console.conftest import Send, inspector, look, open_tab, press, region, rows, visit
from tests.live import serving
from tests.wire import call

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]

MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>&lt;b&gt;"
SECRET = "s3cret+to/ken=="


def test_what_a_client_sent_is_text(page: Page, send: Send) -> None:
    before = page.locator("img, script, b").count()
    send("/v1/projects", body=json.dumps({"name": MARKUP, MARKUP: 1}).encode())
    send("/v1/%3Cimg%20src=x%20onerror=alert(3)%3E?%3Cb%3E=1")
    expect(rows(page, "Projects").first.get_by_role("cell").first).to_have_text(MARKUP)
    expect(rows(page, "Requests").first).to_contain_text("/v1/<img src=x onerror=alert(3)>")
    expect(open_tab(page, "Coverage")).to_contain_text("body member <img src=x")
    rows(page, "Requests").last.click()
    expect(inspector(page)).to_contain_text("<script>alert(2)</script>")
    assert page.locator("img, script, b").count() == before


def test_an_inline_script_is_blocked_and_reported(page: Page) -> None:
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'bad = 1'}))"
    )
    assert page.evaluate("reports.splice(0)") == ["inline"]
    assert page.evaluate("typeof bad") == "undefined"


ODD_NAMES = {
    "\u202egnp.exe": "⟨U+202E⟩gnp.exe",
    "a\u2028b\u00a0c": "a⟨U+2028⟩b⟨U+00A0⟩c",
    "pay\u200bments\u3164": "pay⟨U+200B⟩ments⟨U+3164⟩",
    "😀" * 50: "😀" * 50,
    "👩\u200d🚀 ❤\ufe0f é": "👩\u200d🚀 ❤\ufe0f é",
    '"><svg/onload=alert(1)>': '"><svg/onload=alert(1)>',
}


def test_invisible_and_turned_characters_of_a_name_are_visible(page: Page, send: Send) -> None:
    for count, (name, shown) in enumerate(ODD_NAMES.items(), 4):
        send("/v1/projects", body=json.dumps({"name": name}).encode())
        expect(rows(page, "Projects")).to_have_count(count)
        assert rows(page, "Projects").first.get_by_role("cell").first.text_content() == shown


@pytest.fixture
def secret_url() -> Iterator[str]:
    """The URL of a server whose token is not the default."""
    with serving(create_app(tokens=[SECRET], seed=SAMPLE_SEED)) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.slow
def test_a_token_is_taken_from_the_fragment_or_typed(
    context: BrowserContext, secret_url: str
) -> None:
    call(secret_url, "/v1/deployments/x", token=f"{SECRET}.job-42")
    seen: list[str] = []
    context.on("request", lambda request: seen.append(request.url))
    fragment = f"#token={SECRET}&world=job-42"
    for given in ("fragment", "typed", "changed fragment"):
        page = context.new_page()  # which knows nothing of what another one was given
        page.on("framenavigated", lambda frame: seen.append(frame.url))
        page.goto(f"{secret_url}/{fragment if given == 'fragment' else ''}")
        if given != "fragment":
            expect(page.get_by_role("alert")).to_contain_text("The token is rejected.")
        if given == "typed":
            page.get_by_label("Token").fill(f"{SECRET}.job-42")
            press(page, "Connect")
            expect(page.get_by_label("Token")).to_have_value("")
        if given == "changed fragment":
            page.evaluate(f"location.hash = '{fragment}'")
        expect(page.get_by_role("status")).to_have_text("Connected")
        expect(page.get_by_role("textbox", name="World")).to_have_value("job-42")
        expect(rows(page, "Requests")).to_have_count(1)
        assert page.url == f"{secret_url}/"
        assert SECRET not in page.content()
        page.reload()
        expect(page.get_by_role("status")).to_have_text("Connected")
        expect(rows(page, "Requests")).to_have_count(1)
    assert not [each for each in seen if SECRET in each.partition("#")[0]]
    other = context.new_page()
    other.goto(secret_url)
    expect(other.get_by_role("alert")).to_contain_text("The token is rejected.")


@pytest.mark.slow
def test_worlds_are_shown_apart(context: BrowserContext, own_url: str) -> None:
    page = context.new_page()
    visit(page, own_url)
    call(own_url, "/v1/projects", body=b'{"name": "main-shop"}')
    call(own_url, "/v1/projects", body=b'{"name": "job-shop"}', token="dev-token.job")
    look(page)
    expect(rows(page, "Projects").first).to_contain_text("main-shop")
    world = page.get_by_role("textbox", name="World")
    world.fill("job")
    look(page)
    expect(rows(page, "Projects").first).to_contain_text("main-shop")
    world.press("Enter")
    expect(rows(page, "Projects").first).to_contain_text("job-shop")
    expect(region(page, "Projects")).not_to_contain_text("main-shop")
    for name in ("a b", "a.", "日本", "x" * 65, "x$(touch$IFS'p')"):
        world.fill(name)
        world.press("Enter")
        expect(page.get_by_role("status")).to_have_text("Not connected")
        expect(page.get_by_role("alert")).to_contain_text("The world is invalid.")
        expect(page.get_by_role("alert")).to_contain_text("1 to 64")
        expect(rows(page, "Requests")).to_have_count(0)
    for name in ("", "main"):
        world.fill(name)
        world.press("Enter")
        expect(rows(page, "Projects").first).to_contain_text("main-shop")
        expect(world).to_have_value("")
        world.fill("job")
        world.press("Enter")
        expect(rows(page, "Projects").first).to_contain_text("job-shop")
