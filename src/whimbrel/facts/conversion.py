"""A conversion to Parquet that runs beside the commits, in a thread of its own.

Encoding and compression happen inside pyarrow without Python's lock, so that commits and the crawl go on meanwhile.
"""

from pathlib import Path
from threading import Event, Thread

from whimbrel.durable_file import Disk


class Conversion:
    """Runs from the moment it is made. Its owner asks `done`, or waits in `result`."""

    def __init__(self, tail: Path, length: int, number: int, disk: Disk) -> None:
        self.number = number
        self._tail, self._length, self._disk = tail, length, disk
        self._stop = Event()
        self._paths: dict[Path, str] = {}
        self._error: Exception | None = None
        self._thread = Thread(target=self._run, name=f"facts-{number}")
        self._thread.start()

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def result(self) -> dict[Path, str]:
        """The files, all on disk under their names, with their digests; or the error that ended it."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._paths

    def abandon(self) -> None:
        """Stop at the next frame, and wait for that. Files that it has written are nobody's."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            from whimbrel.facts.parquet import convert  # pyarrow: not at the start

            self._paths = convert(self._tail, self._length, self.number, self._disk, self._stop)
        except Exception as error:  # noqa: BLE001 raised again in the owner's thread
            self._error = error
