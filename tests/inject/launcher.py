"""Runs `whimbrel` commands and checks, each in a fork of a process that has everything imported.

Orders come as lines of JSON on standard input, replies leave on standard output. The shim is preloaded into this
process; it begins to count in the fork, when the command begins.
"""

import ctypes
import json
import os
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec

_LONGEST_S: Final = 40.0


def main() -> None:
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        order = json.loads(line)
        if "modules" in order:
            _import_all(order["modules"])
            replies.write(json.dumps({"code": 0}) + "\n")
        else:
            replies.write(json.dumps(_carried_out(order)) + "\n")


def _import_all(names: list[str]) -> None:
    """What a crawl imports on the way."""
    from whimbrel.job.process_tuning import tune_memory

    tune_memory()
    import asyncio  # noqa: F401 - before its parts

    for name in names:
        with suppress(ImportError):
            import_module(name)


def _carried_out(order: dict[str, Any]) -> dict[str, Any]:
    begun_s = time.monotonic()
    child = os.fork()
    if not child:
        _become(order)
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return {"code": os.waitstatus_to_exitcode(status), "seconds": time.monotonic() - begun_s}
        if time.monotonic() - begun_s > order.get("longest_s", _LONGEST_S):
            os.kill(child, signal.SIGABRT)  # faulthandler says where it hangs
            os.waitpid(child, 0)
            return {"code": "hung", "seconds": time.monotonic() - begun_s}
        time.sleep(0.01)


def _become(order: dict[str, Any]) -> None:
    code = 1
    try:
        said = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.close(said)
        import faulthandler

        faulthandler.enable()
        if "check" in order:
            from tests.inject.found import found_in

            Path(order["to"]).write_bytes(msgspec.json.encode(found_in(Path(order["check"]))))
            sys.exit(0)
        sys.argv = ["whimbrel", *order["command"]]
        if order.get("map"):
            os.environ.update(WHIMBREL_INJECT_MAP=order["map"], WHIMBREL_INJECT_ROOT=order["root"])
            ctypes.CDLL(None).inject_attach(order["map"].encode(), order["root"].encode())
        from whimbrel.cli import main as whimbrel

        whimbrel()
        code = 0
    except SystemExit as end:
        ctypes.CDLL(None).inject_detach()
        if order.get("modules_to"):
            with Path(order["modules_to"]).open("a", encoding="utf-8") as file:
                file.writelines(f"{name}\n" for name in sys.modules)
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:  # noqa: BLE001 - as the interpreter would
        ctypes.CDLL(None).inject_detach()
        sys.excepthook(*sys.exc_info())
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


if __name__ == "__main__":
    main()
