"""The list of requests, which stays where it is; the filter, and what leads to requests."""

import re

import pytest

from tests.console.conftest import Console, expect

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("console")]

CREATIONS = {
    b"[": "malformed_json",
    b'{"name": 1}': "invalid_body",
    b'{"name": "shop"}': '"shop"',
    b'{"name": "website"}': 'name_taken "website"',
}


def test_a_row_says_what_happened(console: Console) -> None:
    expect(console.requests.get_by_text("Waiting for requests…")).to_be_visible()
    for body in CREATIONS:
        console.send("/v1/projects", body=body)
    expect(console.rows.locator(".what")).to_have_text([*CREATIONS.values()][::-1])
    console.send("/v1/projects?page=1", "/v1/nowhere")
    expect(console.rows.first).to_contain_text("✕ violation")
    expect(console.rows.nth(1)).to_contain_text("△ unpromised")
    name = re.compile(r"^GET /v1/projects\?page=1 200 at \d\d:\d\d:\d\d\.\d{3}$")
    expect(console.rows.nth(1).get_by_role("button")).to_have_accessible_name(name)


def test_the_polls_of_a_deployment_are_one_row_with_a_count(console: Console) -> None:
    first, other = "/v1/deployments/dpl_queued", "/v1/deployments/dpl_building"
    console.send(first, other, first, "/v1/projects", other, first, f"{first}?x=1")
    console.send("/_stub/faults", body=b'{"delay": 0.01}')
    console.send(first)
    buttons = console.rows.get_by_role("button").filter(has_text="/v1")
    expect(buttons).to_have_text([first, f"{first}?x=1", first, other, "/v1/projects"])
    console.button("3 polls: show each").press("Enter")
    expect(buttons).to_have_text([first, f"{first}?x=1", first, first, first])
    expect(console.inspector).to_have_count(0)


WORDS = {  # and how many of four requests they select
    "get projects": 2,
    "nope 404": 1,
    "4XX Get": 1,
    "deployment_not_found": 1,
    "projects?page=1": 1,
    "\u00e9T\u00c9 post": 1,
    "t-7": 1,
    "hidden": 0,
    "dpl_succeeded": 0,  # which is in the body of a list
}


def test_the_filter_leaves_what_matches_and_follows(console: Console) -> None:
    body = '{"name": "\u00c9t\u00e9", "team": {"id": "t-7", "note": "hidden"}}'
    console.send("/v1/projects", "/v1/deployments/nope", "/v1/projects?page=1")
    console.send("/v1/projects", body=body.encode())
    requests = "**/_stub/requests*"
    console.page.route(requests, lambda route: route.abort())  # it needs none
    for words, count in WORDS.items():
        console.filter.fill(words)
        expect(console.count).to_have_text(f"{count} of 4 match")
        expect(console.rows).to_have_count(count)
    console.page.unroute(requests)
    console.press("Clear the filter")
    expect(console.filter).to_be_focused()
    console.page.mouse.move(1, 1)
    console.filter.fill("404")
    expect(console.announced).to_have_text("1 request matches the filter")
    console.send("/v1/deployments/last", "/v1/projects")
    expect(console.count).to_have_text("2 of 6 match")
    expect(console.rows.locator(".path")).to_contain_text(["last", "nope"])


def test_pause_keeps_the_rows_and_counts_the_new_ones(console: Console) -> None:
    console.send("/v1/projects")
    expect(console.rows).to_have_count(1)
    console.press("Pause")
    console.send("/v1/deployments/a", "/v1/deployments/b")
    expect(console.button("2 new requests")).to_be_visible()
    console.filter.fill("/b")  # finds what came after the pause
    expect(console.rows).to_contain_text("/v1/deployments/b")
    console.filter.fill("")
    expect(console.rows).to_have_count(3)
    console.send("/v1/projects")
    expect(console.button("1 new request")).to_be_visible()
    console.press("Paused")
    expect(console.rows).to_have_count(4)


COVERED = """(button) => {
    const isUnder = (box, { left, right, top, bottom }) =>
        box.left < right && box.right > left && box.top < bottom && box.bottom > top;
    const own = button.getBoundingClientRect();
    const words = [...document.querySelectorAll(":is(h2, label, td, th, .count)")];
    return words.filter((each) => each.checkVisibility() && each.textContent).filter((each) => {
        const range = document.createRange();
        range.selectNodeContents(each);
        const scroller = each.closest(".scroller")?.getBoundingClientRect() ?? own;
        return isUnder(range.getBoundingClientRect(), own) && isUnder(scroller, own);
    }).map((each) => each.textContent);
}"""


@pytest.mark.parametrize("width", [1440, 1000, 760, 530, 390])
@pytest.mark.parametrize("name", ["Projects", "Requests"])
def test_the_button_of_what_is_new_covers_nothing(console: Console, name: str, width: int) -> None:
    console.page.set_viewport_size({"width": width, "height": 900})
    console.send("/v1/projects")
    region = console.page.get_by_role("region", name=name)
    rows = region.locator("tbody").get_by_role("row")
    rows.first.hover()
    for number in range(10):
        # A new project would move the requests away from the pointer.
        body = b'{"name": "shop-%d"}' % number if name == "Projects" else b""
        console.send("/v1/projects", body=body)
    button = region.get_by_role("button", name=f"10 new {name.lower()}")
    expect(button).to_have_text("10 new")
    assert button.evaluate(COVERED) == []


def test_no_row_moves_under_the_pointer_or_the_keyboard(console: Console) -> None:
    first, new = console.rows.first, console.button("1 new request")
    console.send(*[f"/v1/deployments/d{number}-" for number in range(40)])
    expect(console.rows).to_have_count(40)
    first.hover()
    console.send("/v1/projects")
    expect(new).to_be_visible()
    expect(first).to_contain_text("d39-")
    console.page.mouse.move(1, 1)
    expect(first).to_contain_text("/v1/projects")
    console.rows.filter(has_text="d5-").scroll_into_view_if_needed()
    console.send("/v1/projects")
    new.press("Enter")
    expect(new).to_be_hidden()
    console.filter.press("Tab")  # to the list, which is no row, and does not hold it
    console.send("/v1/deployments/last")
    expect(first).to_contain_text("last")
    console.page.keyboard.press("Tab")
    console.send("/v1/deployments/later")
    expect(new).to_be_visible()
    expect(first).to_contain_text("last")


LEADS = [  # a tab, a button, and how many requests it selects
    ("Coverage", "✓ 3: the requests of listProjects with 200", 3),
    ("Coverage", "unpromised: listProjects: query parameter page 2", 2),
    ("Contract", "✓ 3: the requests of listProjects with 200", 3),
    ("Contract", "unpromised: listProjects: query parameter page 2", 2),
    ("Controls", "Requests of shop", 1),
    ("Controls", "Remove the filter shop", 5),
]


def test_coverage_contract_and_projects_lead_to_their_requests(console: Console) -> None:
    console.send("/v1/projects", body=b'{"name": "shop", "team": 1}')
    console.send("/v1/projects?page=1", "/v1/projects?page=2", "/v1/projects", "/v1/deployments/a")
    expect(console.tab("Coverage")).to_contain_text("3 of 26 responses")
    expect(console.page.locator("#findings li")).to_have_count(2)
    contract = console.tab("Contract")
    expect(contract.locator("summary")).to_contain_text(["1 of 7 met", "1 of 11 met", "1 of 8 met"])
    for text in ("fixed §4", "chosen", "projects.latest_deployment_id"):
        expect(contract).to_contain_text(text)
    console.filter.fill("POST")
    for tab, button, count in LEADS:
        console.tab(tab)
        console.page.get_by_role("button", name=button).click()
        expect(console.rows).to_have_count(count)
    expect(console.filter).to_have_value("")
    expect(console.filter).to_be_focused()
