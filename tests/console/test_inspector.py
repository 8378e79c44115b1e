"""The inspector: a request with its response, and a deployment with its timeline."""

import json
from itertools import pairwise
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.conftest import TOKEN
from tests.console.conftest import (
    Send,
    announced,
    inspector,
    open_part,
    press,
    region,
    rows,
    visit,
)
from tests.wire import call

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


def copied(page: Page, name: str) -> str:
    press(page, name)
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def open_first(page: Page) -> None:
    rows(page, "Requests").first.click()
    expect(page.get_by_role("button", name="Copy as curl")).to_be_enabled()


def test_a_response_has_status_headers_and_indented_body(page: Page, send: Send) -> None:
    send(
        "/v1/projects?x=1",
        body=b'{"name": "", "n": 12345678901234567890.10, "a": [], "b": [{"c,:": 1}]}',
    )
    expect(rows(page, "Requests")).to_have_count(1)
    open_first(page)
    shown = inspector(page)
    title = shown.get_by_role("heading", level=2)
    expect(title).to_have_text("422 POST /v1/projects?x=1")
    expect(title.locator("[data-class='4']")).to_have_text("422")
    expect(shown.get_by_role("term").first).to_have_text("Status")
    expect(shown.get_by_role("definition").first).to_have_text("422 Unprocessable Entity")
    for name in ("Code", "Duration"):
        expect(shown.get_by_role("term").get_by_text(name, exact=True)).to_have_count(1)
    texts = [shown.get_by_role(role).first for role in ("term", "definition")]
    assert len({each.evaluate("(each) => getComputedStyle(each).fontSize") for each in texts}) == 1
    findings = [each.bounding_box() for each in shown.get_by_role("listitem").all()]
    for above, below in pairwise(box for box in findings if box):
        assert below["y"] > above["y"] + above["height"] + 2
    response = shown.get_by_role("group", name="Response body")
    expect(response).to_contain_text('\n  "code": "invalid_body",\n')
    expect(shown).to_contain_text("application/problem+json")
    lines = ["{", '  "name": "",', '  "n": 12345678901234567890.10,', '  "a": [],', '  "b": [',
             "    {", '      "c,:": 1', "    }", "  ]", "}"]  # fmt: skip
    body = open_part(page, "Request").get_by_role("group", name="Request body")
    assert body.text_content() == "\n".join(lines)


CUT = [  # of different lengths, so that one is not seen as another
    (b'{"a":1,"a":1.0,"b":"', '{\n  "a": 1,\n  "a": 1.0,\n  "b": "xx'),
    (b' [ { } ,"', '[\n  {},\n  "xx'),
    (b"[]]}{[", "[]\n]\n}{\n[\nxx"),
    (b"[1 2\\", "[\n  1 2\\xx"),
    (b"no [12,", "no [12,xx"),
]


def test_a_long_body_is_indented_as_far_as_it_goes(page: Page, send: Send) -> None:
    send("/v1/projects", body=bytes(100_000))
    for start, _ in CUT:
        send("/v1/projects", body=start + 5000 * b"x")
    expect(rows(page, "Requests")).to_have_count(1 + len(CUT))
    open_first(page)
    shown = open_part(page, "Request")
    for start, indented in reversed(CUT):
        cut = f"The first 4,096 of {len(start) + 5000:,} bytes"
        expect(shown.get_by_text(cut)).to_be_visible()
        body = shown.get_by_role("group", name="Request body")
        assert (body.text_content() or "").startswith(indented)
        assert body.locator("xpath=preceding::p[1]").text_content() == cut
        page.keyboard.press("ArrowDown")
    expect(shown).to_contain_text("Nothing can be shown of the 100,000 bytes.")
    replay = page.get_by_role("button", name="Replay", exact=True)
    send("/v1/../_stub/reset", method="POST")
    send("/v1/deployments/a")
    press(page, "2 new requests")
    open_first(page)
    expect(replay).to_be_enabled()
    replay.focus()
    for reason in ("a browser does not send such a request", "the body is cut"):
        page.keyboard.press("ArrowDown")
        expect(replay).to_have_accessible_description(f"No replay: {reason}")
        expect(replay).to_be_disabled()
        expect(replay).to_be_focused()


@pytest.mark.slow
def test_a_long_response_says_that_it_is_cut(page: Page, send: Send) -> None:
    for number in range(40):
        send("/v1/projects", body=json.dumps({"name": f"p{number}", "text": 150 * "x"}).encode())
    reply = send("/v1/projects")
    expect(rows(page, "Requests")).to_have_count(41)
    open_first(page)
    expect(inspector(page)).to_contain_text(f"The first 4,096 of {len(reply.data):,} bytes")


def test_the_arrows_go_through_the_list_beside_it(page: Page, send: Send) -> None:
    send("/v1/deployments/a", "/v1/deployments/b", "/v1/deployments/c")
    expect(rows(page, "Requests")).to_have_count(3)
    open_first(page)
    title = inspector(page).get_by_role("heading", level=2)
    expect(title).to_contain_text("/c")
    open_part(page, "curl")
    rows(page, "Requests").first.click()
    expect(inspector(page).get_by_role("list")).to_have_count(0)
    assert rows(page, "Requests").first.is_visible()
    page.keyboard.press("ArrowDown")  # where the pointer has opened it
    expect(title).to_contain_text("/b")
    page.keyboard.press("ArrowUp")
    page.get_by_role("button", name="Copy link").focus()
    for key, end in (
        ("ArrowDown", "/b"),
        ("ArrowDown", "/a"),
        ("ArrowDown", "/a"),
        ("ArrowUp", "/b"),
    ):
        page.keyboard.press(key)
        expect(title).to_contain_text(end)
    expect(page.get_by_role("tabpanel", name="curl")).to_contain_text("/v1/deployments/b")
    row = rows(page, "Requests").nth(1)
    expect(row).to_have_attribute("aria-current", "true")
    page.keyboard.press("Escape")
    expect(inspector(page)).to_be_hidden()
    expect(row.get_by_role("button")).to_be_focused()


def place_of(page: Page) -> tuple[float, float]:
    """The top and the height of the newest request."""
    box = rows(page, "Requests").first.bounding_box()
    assert box
    return box["y"], box["height"]


@pytest.mark.parametrize(
    ("width", "is_page"),
    [(390, True), (1024, False), (1280, False), (1920, False)],
)
def test_it_is_a_page_where_there_is_no_room_beside_the_list(
    page: Page, send: Send, width: int, is_page: bool
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    send("/v1/deployments/" + 1000 * "a", "/v1/projects")
    expect(rows(page, "Requests")).to_have_count(2)
    place = place_of(page)
    rows(page, "Requests").last.click()
    box = inspector(page).bounding_box()
    assert box
    assert (box["width"] == width) == is_page
    assert rows(page, "Requests").first.is_visible() != is_page
    assert is_page or place_of(page) == place
    assert region(page, "Controls").is_visible() == (width >= 1280)
    inspector(page).evaluate("(each) => each.scrollTo(0, each.scrollHeight)")
    for name in ("Copy as curl", "Replay", "Close"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_in_viewport()


def test_a_request_is_replayed_with_the_current_token(page: Page, send: Send) -> None:
    send("/v1/projects", body=b'{"name": "shop"}')
    expect(rows(page, "Requests")).to_have_count(1)
    open_first(page)
    tabs = inspector(page).get_by_role("tablist")
    before = tabs.bounding_box()
    press(page, "Replay")
    replayed = page.get_by_role("button", name="Replayed: 409", exact=True)
    expect(replayed).to_be_visible()
    assert tabs.bounding_box() == before
    replayed.press("Enter")
    expect(rows(page, "Requests")).to_have_count(2)
    expect(rows(page, "Requests").first).to_have_attribute("aria-current", "true")
    title = inspector(page).get_by_role("heading", level=2)
    expect(title).to_have_text("409 POST /v1/projects")
    expect(title).to_be_focused()
    first, second = send("/_stub/requests").json["requests"]
    assert (first["body"], first["status"]) == (second["body"], 201)


@pytest.mark.slow
def test_what_is_copied_is_said_without_moving_anything(stopped: Page, own_url: str) -> None:
    call(own_url, "/v1/projects")
    visit(stopped, own_url)
    rows(stopped, "Requests").first.click()
    stopped.clock.run_for(100)  # an effect is run after a frame
    button, replay = (
        stopped.get_by_role("button", name=name, exact=True) for name in ("Copy as curl", "Replay")
    )
    expect(button).to_be_enabled()
    stopped.clock.run_for(100)
    before = [button.bounding_box(), replay.bounding_box()]
    button.click()
    expect(button).to_have_text("Copied")
    expect(announced(stopped)).to_have_text("Copied")
    assert [button.bounding_box(), replay.bounding_box()] == before
    stopped.clock.run_for(1900)
    expect(button).to_have_text("Copied")
    stopped.clock.run_for(100)
    expect(button).to_have_text("Copy as curl")
    button.click()
    expect(button).to_have_text("Copied")
    replay.focus()
    expect(button).to_have_text("Copy as curl")


@pytest.mark.slow
def test_a_link_shows_the_request_and_has_no_token(context: BrowserContext, live_url: str) -> None:
    for path in ("/v1/deployments/a", "/v1/deployments/b"):
        call(live_url, path, token=f"{TOKEN}.linked")
    page = context.new_page()
    visit(page, f"{live_url}/#token={TOKEN}&world=linked")
    rows(page, "Requests").last.click()
    link = copied(page, "Copy link")
    assert link == f"{live_url}/#world=linked&request=1"
    other = context.new_page()
    visit(other, link)
    expect(inspector(other).get_by_role("heading", level=2)).to_contain_text("/v1/deployments/a")


def test_a_deployment_opens_its_timeline(page: Page, send: Send) -> None:
    send("/_stub/clock", body=b'{"frozen": true}')
    made = send("/v1/projects", body=b'{"name": "shop"}').json
    identifier = made["latest_deployment_id"]
    send(f"/v1/deployments/{identifier}?verbose=1", "/v1/deployments/other")
    press(page, f"Timeline of {identifier}")
    expect(rows(page, "Projects").first).to_have_attribute("aria-current", "true")
    stages = inspector(page).get_by_role("listitem")
    expect(stages).to_have_text(["○ queued now, 300 s left", "◐ building in 300 s",
                                 "✓ succeeded in 600 s"])  # fmt: skip
    expect(inspector(page)).to_contain_text("asked for it 1 time.")
    press(page, "Advance to building")
    expect(stages).to_have_text(["○ queued took 300 s", "◐ building now, 300 s left",
                                 "✓ succeeded in 300 s"])  # fmt: skip
    send(f"/v1/deployments/{identifier}")
    expect(inspector(page).locator("svg line")).to_have_count(2)
    got = inspector(page).get_by_role("definition")
    expect(got.filter(has_text="200 ")).to_have_text(["200 building", "200 queued"])
    send("/_stub/clock", body=b'{"frozen": false}')
    press(page, "Advance to succeeded")
    expect(stages.last).to_have_text("✓ succeeded now")
    expect(page.get_by_role("button", name="Advance to")).to_have_count(0)
    send("/_stub/reset", method="POST")
    expect(inspector(page)).to_contain_text("asked for it 0 times.")
    assert copied(page, "Copy id") == identifier
    page.keyboard.press("Escape")
    expect(inspector(page)).to_be_hidden()


@pytest.mark.slow
@pytest.mark.parametrize("identifier", ["404", pytest.param("5%/a b", marks=pytest.mark.slow)])
def test_a_timeline_has_the_polls_of_the_whole_journal(
    page: Page, send: Send, identifier: str
) -> None:
    path = f"deployments/{quote(identifier, safe='')}"
    body = b'{"status": "building", "project_id": "prj_search"}'
    send(f"/_stub/{path}", method="PUT", body=body)
    send(*3 * [f"/v1/{path}"], f"/v1/{path}4", *230 * ["/v1/projects"])
    expect(rows(page, "Requests")).to_have_count(200)
    press(page, f"Timeline of {identifier}")
    expect(inspector(page)).to_contain_text("Your client asked for it 3 times.")
    send(f"/v1/{path}?x=1")
    expect(inspector(page)).to_contain_text("Your client asked for it 4 times.")
    link = copied(page, "Copy link")
    page.keyboard.press("Escape")
    button = page.get_by_role("button", name=f"Timeline of {identifier}")
    expect(button).to_be_focused()
    button.press("Enter")
    press(page, "Close")
    expect(inspector(page)).to_be_hidden()
    expect(button).to_be_focused()
    assert link.endswith(f"&deployment={quote(identifier, safe='')}")
    assert TOKEN not in link
    page.goto("about:blank")
    visit(page, link)
    expect(inspector(page).get_by_role("heading", level=2)).to_have_text(identifier)
