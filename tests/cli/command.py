"""Commands as a user gives them: in this process, which is quick, or in one of their own."""

import contextlib
import io
import subprocess
import sys
from dataclasses import dataclass
from typing import Any
from unittest import mock

import msgspec

from whimbrel.cli.app import run as run_here


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """What it said, without frames and line ends."""
        return " ".join((self.out + self.err).replace("│", " ").split())

    def json(self) -> Any:
        return msgspec.json.decode(self.out)


def run(*arguments: str, stdin: str = "") -> Done:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code = 0
    with (
        mock.patch.object(sys, "argv", ["whimbrel", *arguments]),
        mock.patch.object(sys, "stdin", io.StringIO(stdin)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            run_here()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    found = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Done(code, *found)


def run_alone(*arguments: str, timeout_s: float = 50) -> Done:
    command = [sys.executable, "-m", "whimbrel", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    return Done(done.returncode, done.stdout, done.stderr)
