"""The page and the widget as people use them: from disk, in a real browser, with and without scripts."""

import json
import re
from datetime import date

import pytest
from playwright.sync_api import expect

import roi
from roi import amounts, words
from roi.board import Board, Page
from roi.board.page import assumptions, script, vega
from roi.charts import SPECIFICATIONS
from roi.decision import decide, recommendation
from roi.drivers import drivers
from roi.inputs import inputs
from roi.reading import parse, shipped
from roi.simulate import on_a_page
from tests.browser import DESKTOP, PHONE, barriers, chromium, visit
from tests.test_simulate import only

TODAY = date(2026, 12, 1)


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The page of two-region as a file on disk."""
    path = tmp_path_factory.mktemp("page") / "two-region.html"
    path.write_text(Page(roi.load("two-region"), TODAY).document(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    """A fresh visit that must end with a quiet console and no request but the page itself."""
    seen = visit(browser, address)
    seen.page.wait_for_selector(".vega-embed svg >> nth=1")
    yield seen
    assert seen.quiet(), seen.said
    assert {asked.split("#")[0] for asked in seen.asked if not asked.startswith(("data:", "blob:"))} == {address}
    seen.page.context.close()


def shown(page, line="net_gain"):
    return page.text_content(f".tiles [data-line={line}]")


def set_box(page, path, text):
    page.fill(f'[data-box="{path}"]', text)
    page.press(f'[data-box="{path}"]', "Enter")


def tiles(result):
    return [words.show_line(result, name) for name in words.TILES]


def test_the_page_opens_on_the_proposals_own_numbers(opened):
    result = roi.evaluate(roi.load("two-region"))
    assert shown(opened.page) == "$329K"  # DESIGN: net gain 328,974.1792
    assert [shown(opened.page, name) for name in words.TILES] == tiles(result)
    assert opened.page.text_content("[data-role=verdict]") == words.verdict(result)
    assert opened.page.is_hidden("[data-role=changed]")


def test_the_page_is_one_file_of_a_megabyte_and_a_half(address):
    document = Page(roi.load("two-region"), TODAY).document()
    assert len(document.encode()) < 1_600_000
    assert '<html lang="en">' in document
    assert "<title>Two regions, us-central1 and europe-west4</title>" in document
    assert not re.search(r'(?:src|href)="(?:https?:)?//', document)


def test_nothing_in_the_scripts_closes_their_element():
    for source in (vega(), script()):
        assert "</script" not in source.lower()
        assert "<!--" not in source


CHANGES = [
    {"latency_saved": 90},
    {"latency_saved": -40},
    {"value_per_release_day": 400_000},
    {"upfront_cost": 0},
    {"gpus": 512, "horizon": 36},
    {"delay": 6.5, "ramp": 0},
    {"discount_rate": 0.25, "releases_per_month": 1.15},
    {"proposed.europe-west4.gpu_price": 5.46},
    {"proposed.us-central1.utilisation": 0.8, "proposed.europe-west4.utilisation": 0.8},
    {"horizon": 60, "critical_path_share": 0.35},
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_ten_settings_agree_with_evaluate(opened, changes):
    page = opened.page
    page.click(".more > summary")
    for path, value in changes.items():
        set_box(page, path, amounts.plain(value))
    result = roi.evaluate(roi.load("two-region"), changes)
    assert [shown(page, name) for name in words.TILES] == tiles(result)
    assert page.text_content("[data-role=verdict]") == words.verdict(result)
    expect(page.locator("[data-value=npv]")).to_have_text(amounts.quantity(result.npv, "USD"))
    assert page.text_content("[data-role=changed]").startswith(f"{len(changes)} input")


def test_a_link_reopens_exactly_the_state(opened, browser):
    page = opened.page
    set_box(page, "latency_saved", "90")
    set_box(page, "proposed.europe-west4.gpu_price", "$12.5")
    again = visit(browser, page.url)
    assert again.page.input_value("[data-box=latency_saved]") == "90"
    assert again.page.input_value('[data-box="proposed.europe-west4.gpu_price"]') == "12.5"
    assert shown(again.page) == shown(page)
    again.page.click("[data-do=reset]")
    assert shown(again.page) == "$329K"
    assert "#" not in again.page.url
    assert again.quiet(), again.said


@pytest.mark.parametrize(
    ("fragment", "said"),
    [
        ("latency_saved=abc", "'abc' is not a number"),
        ("horizon=99", "Horizon: 99 is refused; allowed is a whole number 1 to 60 month"),
        ("horizon=1.5", "Horizon: 1.5 is refused"),
        ("latency_savd=90", "there is no input 'latency_savd'"),
        ("proposal=nowhere", "there is no proposal 'nowhere' here"),
        ("proposed.mars.gpu_price=1", "there is no input 'proposed.mars.gpu_price'"),
        ("gpu_price=1", "there is no input 'gpu_price'"),
        ("latency_saved=NaN", "'NaN' is not a number"),
        ("__proto__=1", "there is no input '__proto__'"),
    ],
)
def test_a_bad_link_says_so_and_shows_the_proposal(browser, address, fragment, said):
    seen = visit(browser, f"{address}#{fragment}")
    assert said in seen.page.text_content("[data-role=input-notice]")
    assert shown(seen.page) == "$329K"
    assert seen.quiet(), seen.said


@pytest.mark.parametrize(
    ("typed", "value"), [("1.2M", "1,200,000"), ("150k", "150,000"), ("$1,000", "1,000"), ("2.5e5", "250,000"), ("0", "0")]
)
def test_boxes_understand_amounts_as_people_type_them(opened, typed, value):
    set_box(opened.page, "value_per_release_day", typed)
    assert opened.page.input_value("[data-box=value_per_release_day]") == value
    number = amounts.parse_amount(typed)
    assert shown(opened.page) == amounts.money(roi.evaluate(roi.load("two-region"), value_per_release_day=number).net_gain)


@pytest.mark.parametrize(
    ("path", "typed", "said"),
    [
        ("critical_path_share", "80", "Share on the critical path: 80 is refused; allowed is 0 to 1"),
        ("latency_saved", "fast", "'fast' is not a number; write it like 1200000, 1.2M, 150k, $1,000 or 12%"),
        ("horizon", "61", "Horizon: 61 is refused"),
        ("upfront_cost", "", "'' is not a number"),
    ],
)
def test_refused_text_leaves_the_old_value(opened, path, typed, said):
    set_box(opened.page, path, typed)
    notice = opened.page.text_content("[data-role=input-notice]")
    assert said in notice
    assert "stays at" in notice
    assert shown(opened.page) == "$329K"
    set_box(opened.page, path, "12%" if path == "critical_path_share" else "18")
    assert opened.page.is_hidden("[data-role=input-notice]")


def test_sliders_move_by_keyboard_and_say_their_value(opened):
    page = opened.page
    slider = page.locator("input[name=latency_saved]")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    value = float(page.input_value("[data-box=latency_saved]"))
    assert value < 120
    assert value % 5 == 0  # the step of the slider
    assert slider.get_attribute("aria-valuetext") == f"{value:g} ms/step"
    assert page.text_content("[data-was=latency_saved]") == "was 120 ms/step"
    assert shown(page) == amounts.money(roi.evaluate(roi.load("two-region"), latency_saved=value).net_gain)


def test_axes_hold_still_while_a_slider_moves_and_fit_when_it_is_let_go(opened):
    page = opened.page
    slider = page.locator("input[name=value_per_release_day]")
    axis = ".chart[data-chart=cumulative] .role-axis-label"
    settle = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"
    before = page.locator(axis).all_text_contents()
    slider.evaluate("(slider) => { slider.value = 900000; slider.dispatchEvent(new Event('input', { bubbles: true })); }")
    page.evaluate(settle)
    assert shown(page) == amounts.money(roi.evaluate(roi.load("two-region"), value_per_release_day=900_000).net_gain)
    assert page.locator(axis).all_text_contents() == before
    slider.evaluate("(slider) => slider.dispatchEvent(new Event('change', { bubbles: true }))")
    page.evaluate(settle)
    assert page.locator(axis).all_text_contents() != before


def test_nothing_jumps_while_a_slider_moves(opened):
    """The sliders and charts stay where they are on the screen, whatever the numbers read."""
    page = opened.page
    where = "() => ['.inputs', '.charts', '.tiles'].map((part) => document.querySelector(part).getBoundingClientRect().top)"
    before = page.evaluate(where)
    slider = page.locator("input[name=latency_saved]")
    for value in (0, -60, 90, 121, 300):
        slider.evaluate(
            "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', { bubbles: true })); }", value
        )
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.evaluate(where) == before


def test_downloads_hold_the_changed_proposal_and_its_results(opened):
    page = opened.page
    changes = {"latency_saved": 90.0, "proposed.europe-west4.gpu_price": 12.0, "value_per_release_day": 300_000.0}
    for path, value in changes.items():
        set_box(page, path, amounts.plain(value))

    def download(what):
        page.click(".menu > summary")
        with page.expect_download() as found:
            page.click(f"[data-do={what}]")
        return found.value.path().read_text(encoding="utf-8")

    result = roi.evaluate(roi.load("two-region"), changes)
    again = parse(download("yaml"), "two-region.yaml", "two-region")
    assert roi.evaluate(again).scalars == pytest.approx(result.scalars, rel=0, abs=0, nan_ok=True)
    assert again.mode == result.proposal.mode
    assert again.sites["proposed"]["us-central1"]["gpu_price"] == result.proposal.sites["proposed"]["us-central1"]["gpu_price"]
    answer = json.loads(download("json"))
    assert answer["lines"]["net_gain"] == pytest.approx(result.net_gain, rel=1e-9)
    assert answer["months"]["cumulative"] == pytest.approx(result["cumulative"].tolist(), rel=1e-9)
    rows = download("csv").splitlines()
    assert len(rows) == 1 + 19  # a head, and months 0 to 18
    assert rows[0].startswith("month,")


def test_each_view_beside_the_decision_is_a_tab(opened):
    page = opened.page
    tabs, panels = page.locator("[role=tab]"), page.locator("[role=tabpanel]")
    assert tabs.all_inner_texts()[:3] == ["Decision", "Total cost", "Cost curve and runway"]
    for tab in tabs.all():
        tab.click()
        shown = [panel for panel in panels.all() if panel.is_visible()]
        assert [panel.get_attribute("id") for panel in shown] == [tab.get_attribute("aria-controls")]
        assert shown[0].locator("h2").first.inner_text()
    tabs.first.click()
    page.keyboard.press("ArrowRight")
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "Total cost"
    assert page.locator("[data-panel=tco] .own").is_hidden()
    page.keyboard.press("Home")
    set_box(page, "latency_saved", "90")
    page.locator("[data-view=tco]").click()
    assert page.locator("[data-panel=tco] .own").is_visible()


def test_scenarios_stand_side_by_side_with_the_difference(opened):
    page = opened.page
    names = iter(["Base", "Slower"])
    page.on("dialog", lambda dialog: dialog.accept(next(names)))
    page.click("[data-do=keep]")
    set_box(page, "latency_saved", "90")
    page.click("[data-do=keep]")
    table = page.locator("[data-role=scenario-table]")
    assert "Base" in table.locator("thead").text_content()
    first = table.locator("tbody tr").first.locator("td").all_text_contents()
    change = roi.evaluate(roi.load("two-region"), latency_saved=90).net_gain - roi.evaluate(roi.load("two-region")).net_gain
    assert first == ["$329K", "-$761K", "-$761K", amounts.money(change)]
    page.click("[data-drop='0']")
    assert "Base" not in table.locator("thead").text_content()


def test_a_number_explains_itself(opened):
    page = opened.page
    page.click(".tile[data-explain=net_gain]")
    dialog = page.locator("[data-role=explanation]")
    assert "net_gain = total(net_cash)" in dialog.text_content()
    assert "Latency saved per step: 120 ms/step" in dialog.text_content()
    dialog.get_by_role("button", name="Close").click()
    assert dialog.is_hidden()


def test_shares_that_no_longer_sum_to_one_are_said(opened):
    set_box(opened.page, "proposed.europe-west4.share", "0.4")
    assert "The shares of the proposed fleet sum to 0.9, not 1" in opened.page.text_content("[data-role=flags]")


def test_the_page_is_whole_without_scripts(browser, address):
    seen = visit(browser, address, java_script_enabled=False)
    text = seen.page.inner_text("body")
    assert words.verdict(roi.evaluate(roi.load("two-region"))) in text
    assert "-$185K" in text  # 328,974.18 - 514,128.00 of raise-utilisation
    assert seen.page.locator("[data-panel=decision] .chart > svg").count() == len(SPECIFICATIONS)
    assert "Audit of claims" in text, "the views beside the decision follow it"
    assert seen.page.is_hidden("[data-role=actions]")
    assert seen.page.is_hidden("[data-role=tabs]")
    assert seen.asked == [address]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_page_is_wider_than_its_window(browser, address, size):
    seen = visit(browser, address, viewport=size)
    seen.page.wait_for_selector(".vega-embed svg >> nth=1")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= size["width"]


HOSTILE = 'A </script><script>alert(1)</script> "b" \'c\' <b>&amp; =HYPERLINK("x") \u202eabc \U0001f680 {{ 7 * 7 }}'


def test_text_from_a_proposal_stays_text(browser, tmp_path):
    quoted = json.dumps(HOSTILE, ensure_ascii=False)
    proposal = parse(
        f"name: {quoted}\nowner: {quoted}\ndecision: {quoted}\n"
        f"inputs:\n  latency_saved: {{base: 100, source: {quoted}, link: 'javascript:alert(1)'}}\n"
        f"baseline:\n  a: {{}}\nproposed:\n  {quoted}: {{gpu_price: 9}}\n",
        "hostile.yaml",
        "hostile",
    )
    path = tmp_path / "hostile.html"
    path.write_text(Page(proposal, TODAY).document(), encoding="utf-8")
    seen = visit(browser, path.as_uri())
    seen.page.on("dialog", lambda dialog: pytest.fail(f"a script of the proposal ran: {dialog.message}"))
    seen.page.wait_for_selector(".vega-embed svg >> nth=1")
    assert seen.page.text_content("h1") == HOSTILE
    assert HOSTILE in seen.page.text_content(".regions thead")
    assert HOSTILE in seen.page.text_content(".assumptions")
    assert "javascript:" not in seen.page.inner_html(".assumptions")
    seen.page.fill(f'[data-box="proposed.{HOSTILE}.gpu_price"]'.replace('"b"', '\\"b\\"').replace('("x")', '(\\"x\\")'), "10")
    seen.page.keyboard.press("Enter")
    expected = roi.evaluate(proposal, {f"proposed.{HOSTILE}.gpu_price": 10}).net_gain
    assert shown(seen.page) == amounts.money(expected)
    assert seen.quiet(), seen.said


def test_every_assumption_names_its_source_and_owner():
    for name in shipped():
        for row in assumptions(roi.load(name)):
            assert row["label"]
            assert row["source"]
            assert row["owner"]


# --- the widget, in Python ---------------------------------------------------------------------------------------------------


def test_a_notebook_sets_inputs_and_reads_lines():
    board = Board()
    assert board.net_gain == pytest.approx(328_974.1792)  # DESIGN
    board.latency_saved = 90
    assert board.net_gain == pytest.approx(roi.evaluate(roi.load("two-region"), latency_saved=90).net_gain)
    board.sites = {"proposed.europe-west4.gpu_price": 12}
    assert board.net_gain == pytest.approx(
        roi.evaluate(roi.load("two-region"), {"latency_saved": 90, "proposed.europe-west4.gpu_price": 12}).net_gain
    )
    assert board.cumulative.shape == (19,)


@pytest.mark.parametrize(
    ("trait", "value", "said"),
    [
        ("latency_saved", 1e9, "out of range"),
        ("latency_saved", float("nan"), "not a finite number"),
        ("horizon", 1.5, "not whole"),
        ("proposal", "../../etc/passwd", "there is no proposal"),
        ("sites", {"proposed.mars.gpu_price": 1}, "has no region 'mars'"),
        ("sites", {"proposed.europe-west4.gpu_price": "cheap"}, "is the text 'cheap'"),
    ],
)
def test_what_a_browser_sends_is_checked_as_a_users_input_is(trait, value, said):
    board = Board()
    before = board.net_gain
    with pytest.raises(Exception, match=said):
        setattr(board, trait, value)
    assert board.net_gain == before


def test_every_scalar_input_is_a_synced_trait():
    board = Board()
    for row in inputs().values():
        if row.axis == "scalar":
            assert board.traits(sync=True)[row.name].default_value == row.default


def test_the_widget_answers_that_it_is_there():
    board = Board()
    sent = []
    board.send = sent.append
    board._handle_custom_msg({"kind": "ping"}, [])
    assert sent == [{"kind": "pong"}]
    board._handle_custom_msg("nonsense", [])
    assert sent == [{"kind": "pong"}]


# --- what moves the answer ---------------------------------------------------------------------------------------------------


def driver_rows(page):
    return [[cell.strip() for cell in row.locator("th, td").all_inner_texts()] for row in page.locator(".drivers tbody tr").all()]


def expected_rows(result):
    rows = []
    for each in drivers(result):
        row = inputs()[each.name]
        flips = words.flips(result, each.name, each.flips)
        ends = [amounts.money(each.at_low), amounts.money(each.at_high)]
        rows.append([row.label, row.show(result[each.name]), flips, row.show_range(each.low, each.high), *ends])
    return rows


@pytest.mark.parametrize("changes", [{}, {"latency_saved": 90}, {"gpus": 512, "horizon": 36}], ids=str)
def test_what_would_have_to_be_true_is_what_python_finds(opened, changes):
    page = opened.page
    for path, value in changes.items():
        set_box(page, path, amounts.plain(value))
    result = roi.evaluate(roi.load("two-region"), changes)
    cells = [cell for row in expected_rows(result) for cell in row]
    expect(page.locator(".drivers tbody :is(th, td)")).to_have_text(cells, use_inner_text=True)
    assert driver_rows(page) == expected_rows(result)
    assert page.locator(".drivers .within").count() == sum(
        each.flips is not None and each.low <= each.flips <= each.high for each in drivers(result)
    )


def test_the_tornado_keeps_its_order_while_a_slider_moves(opened):
    page = opened.page
    labels = '[data-chart="tornado"] svg .role-axis-label text'
    before = page.locator(labels).all_text_contents()
    assert "Latency saved per step" in before
    slider = page.locator('input[name="value_per_release_day"]')
    slider.evaluate("(slider) => { slider.value = 20000; slider.dispatchEvent(new Event('input', { bubbles: true })); }")
    assert page.locator(labels).all_text_contents() == before
    slider.evaluate("(slider) => slider.dispatchEvent(new Event('change', { bubbles: true }))")
    # At $20K a day the upfront cost moves the net gain most.
    result = roi.evaluate(roi.load("two-region"), value_per_release_day=20_000)
    top = inputs()[drivers(result)[0].name].label
    expect(page.locator(".drivers tbody th").first).to_have_text(top)
    page.wait_for_function(
        "(top) => [...document.querySelectorAll('.role-axis-label text')].find((t) => t.textContent === top)", arg=top
    )
    inputs_shown = [text for text in page.locator(labels).all_text_contents() if text in {row.label for row in inputs().values()}]
    places = {text: page.locator(labels).get_by_text(text, exact=True).bounding_box()["y"] for text in inputs_shown}
    assert min(places, key=places.get) == top
    assert top != expected_rows(roi.evaluate(roi.load("two-region")))[0][0]


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_barrier_keeps_a_reader_out(browser, address, viewport, scheme):
    seen = visit(browser, address, viewport=viewport, color_scheme=scheme)
    seen.page.eval_on_selector_all("details", "(all) => all.forEach((each) => { each.open = !each.matches('.menu'); })")
    set_box(seen.page, "latency_saved", "90")
    seen.page.wait_for_selector('[data-chart="tornado"] .vega-embed svg')
    assert barriers(seen.page) == []


def test_the_odds_follow_a_slider(opened):
    page = opened.page
    before = page.text_content("[data-role=odds]")
    assert before == words.odds_sentence(on_a_page(roi.load("two-region"))[2])
    set_box(page, "latency_saved", "90")
    changed = roi.load("two-region").with_values({"latency_saved": 90})
    assert page.text_content("[data-role=odds]") == words.odds_sentence(on_a_page(changed)[2])


def test_the_reasons_follow_a_slider_and_the_recommendation_says_that_it_does_not(opened):
    page, proposal = opened.page, roi.load("two-region")
    assert page.text_content(".recommendation") == recommendation(decide(proposal))
    assert page.locator("[data-role=own]").first.is_hidden()
    for changes in ({}, {"latency_saved": 90}, {"latency_saved": 90, "value_per_release_day": 400_000}):
        for name, value in changes.items():
            set_box(page, name, str(value))
        result = roi.evaluate(proposal, changes)
        odds = on_a_page(result.proposal)[2]
        expected = [words.worst_sentence(odds), words.returns_sentence(result), words.cash_out_sentence(odds)]
        assert page.locator(".reasons [data-role]:is(li)").all_text_contents() == expected
        deciders = [f"{inputs()[each.name].label} {words.decides(result, each.name, each.flips)}" for each in drivers(result)[:3]]
        for at, said in enumerate(deciders):
            expect(page.locator(".deciders li").nth(at)).to_contain_text(said)
        kinds = [
            amounts.money(result[name]) for name in ("saving_benefit_total", "release_benefit_total", "capacity_freed_total")
        ]
        assert page.locator(".reasons dd").all_text_contents() == kinds
    assert "the recommendation is for its own numbers" in page.text_content("[data-role=changed]")
    assert page.locator("[data-panel=decision] p[data-role=own]").is_visible()
    page.click("[data-do=reset]")
    assert page.locator("[data-panel=decision] p[data-role=own]").is_hidden()


BAND = '[data-chart="cumulative"] svg .mark-area path'


def test_the_odds_and_the_fan_move_while_a_slider_is_still_moving(opened):
    page = opened.page
    band = page.get_attribute(BAND, "d")
    slider = page.locator("input[name=latency_saved]")
    for value in (150, 95):  # pulled about, and not let go of
        slider.evaluate(
            "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', { bubbles: true })); }", value
        )
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        changed = roi.load("two-region").with_values({"latency_saved": value})
        assert page.text_content("[data-role=odds]") == words.odds_sentence(on_a_page(changed)[2])
        before, band = band, page.get_attribute(BAND, "d")
        assert band != before


def test_the_scale_of_the_cash_holds_the_fan(opened):
    assert "shaded: 8 in 10 outcomes" in opened.page.inner_text("figure >> nth=0")
    box = opened.page.locator('[data-chart="cumulative"] svg').bounding_box()
    band = opened.page.locator(BAND).bounding_box()
    assert box["y"] <= band["y"]
    assert band["y"] + band["height"] <= box["y"] + box["height"]


def test_where_nothing_is_uncertain_there_is_no_fan(browser, tmp_path):
    path = tmp_path / "certain.html"
    path.write_text(Page(only("latency_saved", 120, 120, 120), TODAY).document(), encoding="utf-8")
    seen = visit(browser, path.as_uri())
    seen.page.wait_for_selector(".vega-embed svg >> nth=1")
    assert seen.page.text_content("[data-role=odds]") == "No input has a plausible range, so there are no odds."
    assert "shaded" not in seen.page.inner_text(".charts")
    assert seen.page.locator(BAND).count() == 0
    assert seen.quiet(), seen.said
