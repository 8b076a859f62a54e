"""The served app: a real server, real kernels, a real browser, and those who should not get in."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from playwright.sync_api import expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import roi
from roi import words
from roi.serve import ALLOWED_MESSAGES, CULLING, NOTEBOOK, _config, _Kernels
from tests.browser import DESKTOP, PHONE, barriers, chromium, visit

ROI = str(Path(sys.executable).with_name("roi"))
TOKEN = "open sesame"
LINK = "?proposal=two-region&latency_saved=90"


def eventually(found, seconds=60):
    """What `found` returns as soon as that is true; fails when it never is."""
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < deadline, "this never came true"
        time.sleep(0.1)
    return value


def settled(server):
    """The ids of the kernels, once none has come or gone for a while: the pool is full again and closed tabs are dealt with."""
    before, since = set(server.kernels()), time.monotonic()
    while time.monotonic() - since < 3:
        time.sleep(0.2)
        if (now := set(server.kernels())) != before:
            before, since = now, time.monotonic()
    return before


class Server:
    """A server in a process of its own, on a free port."""

    def __init__(self, log, *command, **options):
        self.log = log
        with log.open("w") as stream:
            self.process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, **options)
        eventually(lambda: "\n" in self.said() or self.process.poll() is not None)
        self.address = re.search(r"http://\S+?/(?=[?\s])", self.said())[0]
        self.host, self.base = re.fullmatch(r"http://([^/]+)(/.*)", self.address).groups()

    def said(self):
        return self.log.read_text()

    def ask(self, path="", method="GET", **headers):
        """Status, headers and text of one request; no redirect is followed."""
        connection = HTTPConnection(self.host, timeout=60)
        connection.request(method, self.base + path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        text = response.read().decode(errors="replace")
        connection.close()
        return response.status, response.headers, text

    def kernels(self):
        """The kernels that run, by id."""
        found = {}
        for each in psutil.Process(self.process.pid).children(recursive=True):
            try:
                if each.status() != psutil.STATUS_ZOMBIE and (
                    match := re.search(r"kernel-([\w-]+)\.json", " ".join(each.cmdline()))
                ):
                    found[match[1]] = each
            except psutil.NoSuchProcess:
                pass
        return found

    def page(self, path="", **headers):
        """A fetched page and the id of its kernel."""
        status, _, text = self.ask(path, **headers)
        assert status == 200
        return text, json.loads(re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', text)[1])["kernelId"]

    def close_tab(self, kernel_id, **headers):
        """What a browser sends when a tab closes: no cookie, no XSRF argument."""
        return self.ask(f"voila/api/shutdown/{kernel_id}", "POST", **headers)[0]

    def stop(self):
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=30)


class Channel:
    """A viewer's own connection to a kernel, free of what the page would send."""

    def __init__(self, socket):
        self.socket = socket
        self.heard = []
        self.board = None

    @classmethod
    @contextmanager
    def to(cls, server, kernel_id, origin=None):
        address = f"ws://{server.host}{server.base}api/kernels/{kernel_id}/channels"
        with connect(address, origin=origin, max_size=None) as socket:
            yield cls(socket)

    def send(self, kind, content, channel="shell"):
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": "viewer", "username": "", "date": "", "version": "5.3"}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": channel}
        self.socket.send(json.dumps(message))

    def until(self, wanted):
        """Listens up to the first message that is wanted."""
        while True:
            message = json.loads(self.socket.recv(timeout=30))
            self.heard.append(message)
            if wanted(message):
                return message

    def tell_board(self, data):
        self.send("comm_msg", {"comm_id": self.board, "data": data})

    def ping(self):
        """The board's answer. Messages are handled in order, so whatever was sent before has been dealt with."""
        if self.board is None:
            self.send("comm_info_request", {"target_name": "jupyter.widget"})
            reply = self.until(lambda message: message["msg_type"] == "comm_info_reply")
            self.send("comm_msg", {"comm_id": "nobody", "data": {}})
            for self.board in reply["content"]["comms"]:
                self.tell_board({"method": "custom", "content": {"kind": "ping"}})
        else:
            self.tell_board({"method": "custom", "content": {"kind": "ping"}})
        answer = self.until(lambda message: message["content"].get("data", {}).get("content") == {"kind": "pong"})
        self.board = answer["content"]["comm_id"]

    def state(self):
        """The board's inputs as its kernel has them."""
        self.tell_board({"method": "request_state"})
        return self.until(lambda message: "value_per_release_day" in message["content"].get("data", {}).get("state", {}))[
            "content"
        ]["data"]["state"]


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """Starts servers, and sees to it that each ends as it should: at once, with code 0, without a traceback or a kernel left."""
    servers = []

    def start(*command, **options):
        servers.append(Server(tmp_path_factory.mktemp("server") / "log", *command, **options))
        return servers[-1]

    yield start
    for each in servers:
        each.process.send_signal(signal.SIGTERM)
    for each in servers:
        assert each.process.wait(timeout=30) == 0


@pytest.fixture(scope="module")
def plain(started, tmp_path_factory):
    """As `roi serve` starts it, in a home and a working directory that try to change what is served."""
    home, here = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("here")
    spec = home / ".local/share/jupyter/kernels/python3/kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": ["/bin/false", "{connection_file}"], "display_name": "Another", "language": "python"}))
    loose = {
        "VoilaConfiguration": {
            "allow_template_override": "YES",
            "file_allowlist": [".*"],
            "file_denylist": [],
            "strip_sources": False,
        }
    }
    (here / "voila.json").write_text(json.dumps(loose))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    return started(ROI, "serve", "--port", "0", cwd=here, env=environment)


@pytest.fixture(scope="module")
def guarded(started):
    """Under a base URL, with a token."""
    return started(ROI, "serve", "--port", "0", "--base-url", "/team/roi", "--token", TOKEN)


@pytest.fixture(scope="module")
def cold(started):
    """No kernel ready, and nowhere to write: neither the working directory nor the home."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/proc/none"}
    return started(sys.executable, "-c", "from roi.serve import serve; serve(port=0, pool=0)", cwd="/proc", env=environment)


@pytest.fixture(scope="module")
def failing(started, tmp_path_factory):
    """A workbook that fails, on a server that culls within seconds."""
    notebook = tmp_path_factory.mktemp("failing") / "failing.ipynb"
    cell = nbformat.v4.new_code_cell("print('to be seen by no one')\nraise ValueError('a secret of the server')")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    return started(
        sys.executable,
        "-c",
        "import pathlib, sys; from roi import serve; serve.NOTEBOOK = pathlib.Path(sys.argv[1]);"
        "serve.CULLING.update(cull_idle_timeout=1, cull_interval=1); serve.serve(port=0, pool=1)",
        str(notebook),
    )


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def look(browser):
    """Opens the app and waits for its kernel, which puts evidence on the page.

    In the end nothing was asked of another origin, or logged as an error.
    """
    opened = []

    def open_(server, query="", wait_for='[data-role="intake"]:not([hidden])'):
        seen = visit(browser)
        seen.page.on("websocket", lambda socket: seen.asked.append(socket.url))
        seen.page.goto(server.address + query)
        seen.page.wait_for_selector(wait_for)
        opened.append((server, seen))
        return seen

    yield open_
    for server, seen in opened:
        own = (server.address, f"ws://{server.host}{server.base}", f"blob:http://{server.host}/", "data:", "about:")
        assert [each for each in seen.asked if not each.startswith(own)] == []
        assert [each for each in seen.said if each.startswith(("error", "uncaught"))] == []
        if not seen.page.is_closed():
            seen.page.close(run_before_unload=True)


@pytest.fixture
def channel(plain):
    """A connection to a kernel of one's own."""
    _, kernel_id = plain.page()
    with Channel.to(plain, kernel_id) as found:
        found.ping()
        yield found
    assert plain.close_tab(kernel_id) == 204


def kernel_of(seen):
    """The id of the kernel behind a page."""
    return next(match[1] for each in seen.asked if (match := re.search(r"/api/kernels/([\w-]+)/channels", each)))


# --- what a viewer sees -----------------------------------------------------------------------------------------------------


def test_the_app_opens_on_the_net_gain(look, plain):
    seen = look(plain)
    assert seen.page.text_content('[data-line="net_gain"]') == "$329K"  # DESIGN: 328,974.1792
    assert seen.page.locator(".opening").is_hidden()
    assert seen.page.get_attribute("html", "lang") == "en"
    assert len(plain.said().splitlines()) == 1, "the log holds the address and nothing else"


def test_the_page_has_its_style_before_its_kernel_and_no_chart_is_wider_than_its_place(look, plain):
    seen = look(plain, wait_for='[data-chart="cumulative"] svg')
    wide = "[...document.querySelectorAll('.chart')].map((each) => each.querySelector('svg').getBoundingClientRect().width"
    assert max(seen.page.evaluate(f"() => {wide} - each.getBoundingClientRect().width)")) < 1
    seen.page.wait_for_selector('[data-role="intake"]:not([hidden])')


def test_the_app_is_no_wider_than_a_phone(look, plain):
    """Neither as the server sends it nor with what its kernel puts on it, where the longest list of choices is wider."""
    seen = look(plain)
    seen.page.set_viewport_size({"width": 390, "height": 844})
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_number_is_there_before_the_kernel_which_waits_until_the_board_is_drawn(plain):
    with closing(HTTPConnection(plain.host, timeout=60)) as connection:
        connection.request("GET", plain.base, headers={"Accept": "text/html"})
        response = connection.getresponse()
        opening = ""
        while "</main>" not in opening:
            opening += response.read1().decode()
        assert re.search(r'data-line="net_gain"[^>]*>\$329K<', opening)  # DESIGN: 328,974.1792
        assert "kernelId" not in opening
        drawn = re.search(r'data-roi-app="/([\w/]+)"', opening)[1]
        assert plain.ask("roi/drawn/nosuch", "POST")[0] == plain.ask(drawn, "POST")[0] == 204
        rest = response.read().decode()
    assert rest.rstrip().endswith("</html>")
    assert plain.close_tab(re.search(r'"kernelId": "([\w-]+)"', rest)[1]) == 204


def test_without_scripts_the_page_shows_the_answer_and_with_other_numbers_in_its_link_it_does_not(plain, browser):
    page = visit(browser, java_script_enabled=False).page
    page.goto(plain.address, wait_until="commit")
    page.wait_for_selector('[data-line="net_gain"]')
    assert page.text_content('[data-line="net_gain"]') == "$329K"
    assert page.locator(".opening").is_hidden()
    page.goto(plain.address + LINK, wait_until="commit")
    page.wait_for_selector("noscript", state="attached")
    assert page.locator('[data-line="net_gain"]').count() == 0
    assert page.locator(".opening").is_visible()
    page.context.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_above_the_charts_moves_when_the_script_takes_over(plain, browser, size):
    places = []
    for scripts, ready in ((False, '[data-line="net_gain"]'), (True, '[data-role="intake"]:not([hidden])')):
        page = visit(browser, viewport=size, java_script_enabled=scripts).page
        page.goto(plain.address, wait_until="commit")
        page.wait_for_selector(ready)
        names = (".tiles", ".verdict", '.answer [data-line="net_gain"]', ".inputs")
        places.append({name: page.locator(name).first.bounding_box() for name in names})
        page.close(run_before_unload=True)
    assert places[0] == places[1]


def test_no_barrier_keeps_a_reader_out(look, plain):
    seen = look(plain)
    seen.page.wait_for_selector('[data-chart="tornado"] .vega-embed svg')
    assert barriers(seen.page) == []
    seen.page.set_viewport_size(PHONE)
    assert barriers(seen.page) == []


def test_a_link_shows_the_same_scenario_preheated_cold_and_under_a_base_url(look, plain, cold, guarded):
    expected = words.show_line(roi.evaluate(roi.load("two-region"), latency_saved=90), "net_gain")
    for server, ready, query in ((plain, True, LINK), (cold, False, LINK), (guarded, True, f"{LINK}&token={TOKEN}")):
        before = eventually(server.kernels) if ready else server.kernels()
        seen = look(server, query)
        assert seen.page.text_content('[data-line="net_gain"]') == expected
        assert seen.page.input_value('[data-box="latency_saved"]') == "90"
        assert (kernel_of(seen) in before) == ready


def test_a_slider_of_a_notebook_moves_the_board_in_the_browser(started, tmp_path, browser):
    notebook = tmp_path / "linked.ipynb"
    cell = (
        "import ipywidgets\nfrom roi.board import Board\nboard = Board()\n"
        "slider = ipywidgets.FloatSlider(value=120, min=-60, max=300, step=5)\n"
        "ipywidgets.jslink((slider, 'value'), (board, 'latency_saved'))\nipywidgets.VBox([slider, board])"
    )
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)]), notebook)
    code = "import pathlib, sys; from roi import serve; serve.NOTEBOOK = pathlib.Path(sys.argv[1]); serve.serve(port=0, pool=0)"
    seen = visit(browser, started(sys.executable, "-c", code, str(notebook)).address)
    seen.page.wait_for_selector('[data-line="net_gain"]')
    seen.page.focus(".noUi-handle")
    seen.page.keyboard.press("ArrowLeft")
    expected = words.show_line(roi.evaluate(roi.load("two-region"), latency_saved=115), "net_gain")
    expect(seen.page.locator('[data-line="net_gain"]').first).to_have_text(expected)
    assert seen.page.input_value('[data-box="latency_saved"]') == "115"
    seen.page.close(run_before_unload=True)


def test_a_typed_amount_reaches_the_kernel_and_a_refused_one_does_not(look, plain):
    seen = look(plain)
    box = seen.page.locator('[data-box="value_per_release_day"]')
    with Channel.to(plain, kernel_of(seen)) as channel:
        channel.ping()
        for typed, shown in (("150k", False), ("lots", True)):
            box.fill(typed)
            box.press("Enter")
            assert seen.page.locator('[data-role="input-notice"]').is_visible() == shown
            eventually(lambda: channel.state()["value_per_release_day"] == 150_000)


def test_a_view_beside_the_decision_follows_the_inputs(look, plain):
    seen = look(plain)
    panel = seen.page.locator("[data-panel=tco]")
    seen.page.locator("[data-view=tco]").click()
    expect(panel).to_contain_text("Of the proposed bill of $425K a month")  # DESIGN: 425,114.9990
    seen.page.locator("[data-view=decision]").click()
    box = seen.page.locator('[data-box="gpus"]')
    box.fill("128")
    box.press("Enter")
    seen.page.locator("[data-view=tco]").click()
    bill = words.amounts.money(roi.evaluate(roi.load("two-region"), gpus=128).proposed_bill)
    expect(panel).to_contain_text(f"Of the proposed bill of {bill} a month")
    seen.page.locator("[data-view=claims]").click()
    expect(seen.page.locator("[data-panel=claims]")).to_contain_text("Audit of claims")
    assert barriers(seen.page) == []


def test_evidence_is_read_on_the_server_shown_first_and_then_taken_over(look, plain, tmp_path):
    for name, ms in (("before.log", 1200), ("after.log", 1110)):
        line = " iteration {}/ 40 | elapsed time per iteration (ms): {}.0 | lm loss: 7.9 |\n"
        lines = [line.format(n, ms + n * 37 % 21) for n in range(1, 41)]
        (tmp_path / name).write_text("".join(lines))
    seen = look(plain)
    form, found = seen.page.locator('[data-role="intake-form"]'), seen.page.locator('[data-role="intake-found"]')
    box = seen.page.locator('[data-box="value_per_release_day"]')
    box.fill("150k")
    box.press("Enter")
    before = seen.page.locator('[data-line="net_gain"]').first.text_content()
    form.locator("[name=files]").set_input_files([tmp_path / "before.log", tmp_path / "after.log"])
    form.get_by_role("button", name="Read").click()
    # both vary alike around their medians, which are 90 ms apart
    expect(found).to_contain_text("latency_saved: 120 ms/step by default \u2192 90 ms/step")
    assert seen.page.locator('[data-line="net_gain"]').first.text_content() == before, "nothing changes before it is taken over"
    found.get_by_role("button", name="Take over").click()
    expect(found).to_contain_text("Taken over", timeout=60_000)
    expect(seen.page.locator('[data-box="latency_saved"]')).to_have_value("90")
    expect(box).to_have_value("150,000")  # what the reader had set stays
    row = seen.page.locator("table.assumptions tr", has_text="Latency saved per step")
    expect(row).to_contain_text("before.log")
    expect(row).to_contain_text("measured, 80 values")
    expected = roi.evaluate(roi.load("two-region"), latency_saved=90, step_time=1210, value_per_release_day=150_000)
    expect(seen.page.locator('[data-line="net_gain"]').first).to_have_text(words.show_line(expected, "net_gain"))
    form.locator("[name=reader]").select_option("waits")
    form.locator("[name=files]").set_input_files(tmp_path / "after.log")
    form.get_by_role("button", name="Read").click()
    expect(found).to_contain_text("Not read. after.log: ")


def test_a_killed_kernel_is_noticed_and_the_board_goes_on(look, plain):
    seen = look(plain, LINK)
    notice = seen.page.locator('[data-role="server-notice"]')
    assert notice.is_hidden()
    plain.kernels()[kernel_of(seen)].kill()
    notice.wait_for(state="visible")
    before = seen.page.text_content('[data-line="net_gain"]')
    seen.page.focus('input[name="latency_saved"]')
    seen.page.keyboard.press("ArrowRight")
    assert seen.page.text_content('[data-line="net_gain"]') != before
    again = seen.page.get_attribute('[data-role="server-notice"] a', "href")
    assert "latency_saved=" in again
    assert kernel_of(seen) not in plain.kernels(), "a kernel without a workbook is not started in its place"


def test_a_failing_workbook_says_one_sentence_and_keeps_its_secrets(failing, browser):
    seen = visit(browser, failing.address)
    assert (
        seen.page.text_content(".failed")
        == "The workbook could not be opened; whoever runs the server finds the reason in its log."
    )
    assert seen.page.locator(".opening").is_hidden()
    for hidden in ("secret", "ValueError", "Traceback", "no one", "raise"):
        assert hidden not in seen.page.content()
    eventually(lambda: "a secret of the server" in failing.said())
    seen.page.context.close()


# --- kernels come and go ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [1500, 1600, 1700, 1800, 1900, 4500])
def test_a_kernel_may_answer_late(plain, browser, late):
    """Whatever widgets it has, ipywidgets' browser code looks for one for 2 s, and starts all over after 4 s."""
    seen, kept = visit(browser), []

    def between(page):
        kernel = page.connect_to_server()
        kernel.on_message(lambda said: kept.append((page, said)) if b'"update_states"' in said else page.send(said))

    seen.page.route_web_socket(re.compile("/channels"), between)
    seen.page.goto(plain.address)
    eventually(lambda: kept or seen.page.wait_for_timeout(20))
    seen.page.wait_for_timeout(late)
    for page, said in kept:
        page.send(said)
    seen.page.wait_for_selector('[data-role="intake"]:not([hidden])')
    assert [each for each in seen.said if each.startswith(("error", "uncaught"))] == []
    seen.page.close(run_before_unload=True)


def test_closing_the_tab_frees_its_kernel(look, plain):
    seen = look(plain)
    kernel_id = kernel_of(seen)
    assert kernel_id in plain.kernels()
    with seen.page.expect_event("close"):
        seen.page.close(run_before_unload=True)
    eventually(lambda: kernel_id not in plain.kernels())


def test_viewers_at_once_get_a_kernel_each(plain):
    with ThreadPoolExecutor() as viewers:
        kernels = [kernel_id for _, kernel_id in viewers.map(lambda _: plain.page(), range(4))]
        assert len(set(kernels)) == 4
        assert list(viewers.map(plain.close_tab, kernels)) == [204] * 4
    eventually(lambda: not set(kernels) & set(plain.kernels()))


def test_a_kernel_that_no_one_uses_is_culled_and_those_kept_ready_are_not(failing):
    _, kernel_id = failing.page()
    eventually(lambda: kernel_id not in failing.kernels())
    ready = eventually(failing.kernels)
    _, kernel_id = failing.page()
    assert kernel_id in ready
    eventually(lambda: kernel_id not in failing.kernels())


def test_idle_time_counts_from_when_a_page_got_the_kernel():
    kernels = _Kernels(cull_idle_timeout=600, cull_connected=True)
    asleep = datetime.now(UTC) - timedelta(days=3)
    kernel = SimpleNamespace(
        last_activity=asleep, execution_state="idle", kernel_name="", kernel_spec=SimpleNamespace(metadata={})
    )
    kernels._kernels["given"] = kernel
    ended = []

    async def end(kernel_id):
        ended.append(kernel_id)

    kernels.shutdown_kernel = end
    with ThreadPoolExecutor() as elsewhere:  # Playwright has a loop running here
        elsewhere.submit(asyncio.run, kernels.cull_kernel_if_idle("given")).result()
        assert ended == []
        kernel.last_activity = asleep
        elsewhere.submit(asyncio.run, kernels.cull_kernel_if_idle("given")).result()
    assert ended == ["given"]


def test_an_open_board_is_never_silent_for_as_long_as_a_kernel_may_be_idle():
    assert CULLING["cull_connected"]
    assert CULLING["cull_idle_timeout"] > 2 * 60, "browsers let a tab behind others run once a minute"


def test_the_kernel_is_the_servers_own_python(plain):
    for process in eventually(plain.kernels).values():
        assert process.cmdline()[0] == sys.executable


def test_kernels_are_forks_of_one_process_that_has_the_imports(plain):
    parents = {process.parent() for process in eventually(plain.kernels).values()}
    assert len(parents) == 1
    assert next(iter(parents)).parent() == psutil.Process(plain.process.pid)


def test_a_page_gets_no_dead_kernel_of_the_pool(started):
    server = started(ROI, "serve", "--port", "0", "--pool", "3")
    before = eventually(lambda: settled(server) if len(server.kernels()) == 3 else None)
    next(iter(server.kernels().values())).parent().kill()
    eventually(lambda: len(found := server.kernels()) == 3 and not before & set(found))
    _, kernel_id = server.page()
    assert kernel_id in server.kernels()
    assert server.said().count("[_App] WARNING | A kernel that was kept ready has ended; another takes its place.\n") == 3
    assert "Traceback" not in server.said()


def test_a_kernel_asks_the_server_for_its_request_under_the_base_url(guarded):
    for process in eventually(guarded.kernels).values():
        assert process.environ()["VOILA_WS_BASE_URL"] == "/team/roi/"


# --- letting no one in ------------------------------------------------------------------------------------------------------


def test_no_code_from_the_browser_runs(channel, plain, tmp_path):
    made = tmp_path / "made"
    execute = {"code": f"open({str(made)!r}, 'w').close()", "silent": False, "user_expressions": {}, "allow_stdin": True}
    refused = {"execute_request": execute, "inspect_request": {"code": "roi", "cursor_pos": 1}, "complete_request": {"code": "r"}}
    refused |= {kind: {} for kind in ("history_request", "debug_request", "input_reply", "interrupt_request", "shutdown_request")}
    heard = len(channel.heard)
    for kind, content in refused.items():
        for stream in ("shell", "control", "stdin"):
            channel.send(kind, content, stream)
    channel.ping()
    assert {message["msg_type"] for message in channel.heard[heard:]} <= {"comm_msg", "status"}
    assert not made.exists()
    assert not set(refused) & set(ALLOWED_MESSAGES)
    assert "execute_request" in plain.said()


def test_what_a_viewer_sets_is_checked_and_no_traceback_comes_back(channel):
    before = channel.state()
    heard = len(channel.heard)
    refused = ({"latency_saved": 1e12}, {"horizon": "all"}, {"proposal": "nosuch"}, {"sites": {"proposed.x.share": 9}})
    for state in (*refused, {"data": {}, "_esm": "alert(1)", "layout": "nonsense"}):
        channel.tell_board({"method": "update", "state": state, "buffer_paths": []})
    channel.tell_board({"method": "custom", "content": ["nonsense"]})
    channel.ping()
    assert channel.state() == before
    sent = [message["content"].get("data", {}).get("content", {}) for message in channel.heard[heard:]]
    assert len([content["reason"] for content in sent if content.get("kind") == "refused"]) == len(refused)
    assert not re.search(
        "Traceback|Error", json.dumps([each for each in channel.heard[heard:] if each["msg_type"] != "comm_msg"])
    )


def test_other_origins_are_refused(channel, plain):
    kernel_id = re.search(r"kernels/([\w-]+)/", channel.socket.request.path)[1]
    with pytest.raises(InvalidStatus, match="403"):
        Channel.to(plain, kernel_id, origin="https://elsewhere.example").__enter__()
    assert plain.close_tab(kernel_id, Origin="https://elsewhere.example") == 404
    channel.ping()


def test_a_link_chooses_neither_template_nor_theme(cold):
    def same(page):
        return re.sub(r'"kernelId": "[\w-]+"|data-widget="\w+"|drawn/\w+', "", page[0]) if page else ""

    queries = [
        "",
        "?template=lab&theme=dark",
        "?template=nosuch&theme=nosuch",
        "?voila-template=lab&voila-theme=dark",
        "?other=1",
    ]
    with ThreadPoolExecutor() as viewers:
        pages = list(viewers.map(cold.page, queries))
    assert len({same(page) for page in pages[1:]}) == 1
    # Without anything in the link the answer stands in it as well, and nothing else differs.
    assert len({re.sub(r"(<main[^>]*>).*?</main>", r"\1", same(page), flags=re.DOTALL) for page in pages}) == 1
    for _, kernel_id in pages:
        assert cold.close_tab(kernel_id) == 204


def test_the_page_holds_no_source_and_a_strict_policy(plain):
    _, headers, text = plain.ask()
    assert "Board" not in text
    assert not re.search(r"<script(?![^>]*(?:src=|type=\"application/))", text), "no script stands inside the page"
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)
    policy = dict(each.strip().split(" ", 1) for each in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert policy["script-src"] == "'self' blob:"
    assert policy["connect-src"] == "'self'"
    assert "unsafe-eval" not in str(policy)
    assert not re.search(r"https?:|\*", str(policy))
    assert plain.close_tab(re.search(r'"kernelId": "([\w-]+)"', text)[1]) == 204


@pytest.mark.parametrize(
    "path", ["app.ipynb", "proposal.ipynb", "../data/inputs.yaml", "%2e%2e/data/inputs.yaml", "../roi/serve.py", ".."]
)
def test_no_file_is_handed_out(plain, path):
    status, _, text = plain.ask(f"voila/files/{path}")
    assert status in (403, 404)
    assert "roi.board" not in text
    assert "step" not in text


def test_an_unknown_page_is_our_own_and_starts_no_kernel(plain):
    before = settled(plain)
    status, _, text = plain.ask("voila/labextensions/nosuch.js")
    assert (status, "This page cannot be shown (404, Not Found)." in text) == (404, True)
    assert "//" not in re.sub(r"<!doctype html>", "", text)
    assert plain.ask("tree")[0] == 302
    assert settled(plain) <= before


def test_the_token_is_asked_for_and_opens_the_app_under_its_base_url(guarded, browser):
    assert guarded.ask()[0] == 302
    assert guarded.ask("?token=wrong")[0] == 302
    kernel_id = next(iter(eventually(guarded.kernels)))
    assert guarded.ask(f"api/kernels/{kernel_id}")[0] == 403
    assert guarded.close_tab(kernel_id) == 403
    with pytest.raises(InvalidStatus, match="403"):
        Channel.to(guarded, kernel_id).__enter__()
    seen = visit(browser, guarded.address + LINK)
    seen.page.fill("input[name=password]", "wrong")
    seen.page.click("button")
    seen.page.wait_for_selector("text=That is not the token.")
    seen.said.clear()  # the browser reports the refusal
    seen.page.fill("input[name=password]", TOKEN)
    seen.page.click("button")
    seen.page.wait_for_selector('[data-line="net_gain"]')
    assert seen.page.input_value('[data-box="latency_saved"]') == "90"
    assert [each for each in seen.said if each.startswith(("error", "uncaught"))] == []
    assert TOKEN not in guarded.said()
    assert "secure" in guarded.ask(f"?token={TOKEN.replace(' ', '%20')}", X_Forwarded_Proto="https")[1]["Set-Cookie"].lower()
    seen.page.close(run_before_unload=True)


def test_the_server_library_has_the_fixes_that_this_relies_on():
    assert tuple(map(int, version("jupyter-server").split(".")[:2])) >= (2, 20)


# --- running it -------------------------------------------------------------------------------------------------------------


def test_a_health_check_starts_no_kernel_and_needs_no_token(guarded):
    before = settled(guarded)
    status, headers, _ = guarded.ask("voila/static/voila.js", Accept_Encoding="gzip")
    assert (status, headers["Content-Encoding"]) == (200, "gzip")
    assert settled(guarded) <= before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port", "{taken}"], r"cannot listen on 127.0.0.1 port \d+: Address already in use; choose another"),
        (["--port", "0", "--ip", "192.0.2.1"], "cannot listen on 192.0.2.1 port 0: Cannot assign requested address"),
        (
            ["--port", "0", "--base-url", "../roi"],
            "'../roi' is not a path; write it like /roi/",
        ),
        (
            ["--port", "0", "--base-url", "https://example.com/roi"],
            "'https://example.com/roi' is not a path; write it like /roi/",
        ),
    ],
)
def test_where_it_cannot_serve_it_says_so_and_stops(plain, arguments, said):
    taken = plain.host.split(":")[1]
    command = [ROI, "serve", *(each.format(taken=taken) for each in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert re.search(said, done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_ctrl_c_ends_it_with_its_kernels(tmp_path):
    server = Server(tmp_path / "log", ROI, "serve", "--port", "0")
    kernels = eventually(server.kernels)
    assert server.stop() == 0
    assert server.said() == f"The app is at {server.address} (Ctrl-C stops it)\n"
    eventually(lambda: not any(process.is_running() for process in kernels.values()))


def test_the_notebook_is_stored_without_outputs_and_computes_nothing():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert [(cell.source, cell.outputs, cell.execution_count) for cell in notebook.cells] == [
        ("from roi.board import Board\n\nBoard()", [], None)
    ]


def test_a_connection_is_not_cut_off_before_its_first_ping():
    # Jupyter sends the first ping, and looks for answers, one interval after the opening.
    settings = _config(0, "127.0.0.1", "", "/", 0).Voila.tornado_settings
    assert settings["ws_ping_timeout"] > 2 * settings["ws_ping_interval"]
