"""Somebody who looks at a crawl: its dashboard in a process, and a browser in which the page is open."""

import json
import re
import shutil
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Self
from urllib.request import urlopen

from whimbrel.error import UsageError

_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
_BEGIN_S: Final = 60.0


class NoBrowser(UsageError):
    """The page cannot be opened; the message says what is missing."""


def browser_path() -> str:
    """NoBrowser where there is none, or no dashboard to look at."""
    if find_spec("nicegui") is None:
        raise NoBrowser("the dashboard is not installed (pip install 'whimbrel[dashboard]')")
    found = next((path for path in map(shutil.which, _BROWSERS) if path is not None), None)
    if found is None:
        raise NoBrowser("Chromium is not installed")
    return found


class Browser:
    """Opens the dashboard of a directory, and leaves it open until it is closed."""

    def __init__(self, directory: Path, profile: Path) -> None:
        self._profile = profile
        self._dashboard = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "whimbrel", "dashboard", str(directory)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._browser: subprocess.Popen[bytes] | None = None

    def open(self, path: str) -> None:
        """As soon as the dashboard says where it is. NoBrowser when the page does not come up."""
        page = ["--remote-debugging-port=0", f"--user-data-dir={self._profile}", "--window-size=1280,900"]
        self._browser = subprocess.Popen(  # noqa: S603
            [path, "--headless=new", "--no-sandbox", "--disable-gpu", *page, self._address()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        end = time.monotonic() + _BEGIN_S
        while not self._shown():
            if time.monotonic() > end or self._browser.poll() is not None:
                raise NoBrowser("the browser did not show the dashboard")
            time.sleep(0.1)

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in (self._dashboard, self._browser) if process is not None]

    def _address(self) -> str:
        # One that never says it is killed, and its output ends.
        watch = threading.Timer(_BEGIN_S, self._dashboard.kill)
        watch.start()
        try:
            for line in self._dashboard.stdout or ():
                found = re.search(r"http://\S+", line)
                if found is not None:
                    return found[0]
        finally:
            watch.cancel()
        raise NoBrowser("the dashboard did not start")

    def _shown(self) -> bool:
        """Whether the page has its title, which only somebody who was let in gets."""
        try:
            port = int((self._profile / "DevToolsActivePort").read_text().split()[0])
            with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=5) as answer:
                return any(tab.get("title", "").startswith("Whimbrel: ") for tab in json.load(answer))
        except (OSError, ValueError, IndexError):
            return False

    def close(self) -> None:
        for process in (self._browser, self._dashboard):
            if process is not None:
                process.terminate()
                process.wait(30)
        if self._dashboard.stdout is not None:
            self._dashboard.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
