"""A real browser, and the dashboard in a process of its own."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
Opening = Callable[[Path], str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of one module: while it is there an event loop runs, and other tests could not run theirs."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(30_000)
    expect.set_options(timeout=30_000)
    found = context.new_page()
    yield found
    context.close()


@pytest.fixture(scope="module")
def dashboard() -> Iterator[Opening]:
    """Starts a dashboard for a directory; its address, with the token."""
    processes: list[subprocess.Popen[str]] = []

    def opening(directory: Path) -> str:
        command = [sys.executable, "-m", "whimbrel", "dashboard", str(directory)]
        # NiceGUI behaves differently where it finds pytest's mark.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        processes.append(process)
        assert process.stdout is not None
        for line in process.stdout:
            found = re.search(r"http://\S+", line)
            if found is not None:
                return found[0]
        raise AssertionError("the dashboard did not start")

    yield opening
    for process in processes:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
