"""A real Chromium for tests: Debian's, driven by Playwright, with its console and its requests recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@dataclass
class Visit:
    """A page with what it said and asked for."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def quiet(self) -> bool:
        """Nothing on the console and no uncaught error."""
        return self.said == []


@contextmanager
def chromium() -> Iterator[Any]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        yield browser
        browser.close()


def visit(browser: Any, address: str = "about:blank", **options: Any) -> Visit:
    """A new page at an address; options go to the browser context, such as `java_script_enabled=False`."""
    context = browser.new_context(viewport=options.pop("viewport", DESKTOP), **options)
    seen = Visit(context.new_page())
    seen.page.on("console", lambda message: seen.said.append(f"{message.type}: {message.text}"))
    seen.page.on("pageerror", lambda error: seen.said.append(f"uncaught: {error}"))
    seen.page.on("request", lambda request: seen.asked.append(request.url))
    seen.page.goto(address)
    return seen


def barriers(page: Page) -> list[str]:
    """What axe-core finds that would keep readers out."""
    found = Axe().run(page).response["violations"]
    return [f"{each['impact']}: {each['help']}: {each['nodes'][0]['html']}" for each in found]
