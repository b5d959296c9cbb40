"""The effects of visits that others have made."""

from whimbrel.archive.api import Capture
from whimbrel.dedupe.api import Earlier
from whimbrel.effect.effects import Effects
from whimbrel.offline.record_capture import record_capture, restored
from whimbrel.offline.warc_reader import ImportedExchange
from whimbrel.parse.api import Parsed


class ImportEffects(Effects):
    """A crawl's own, but for what the archive keeps: records as they stood. The reader concludes the import, because
    only the reader knows whether all files were read."""

    via = "import"

    def keep(self, parsed: Parsed, earlier: Earlier | None) -> tuple[Capture, ...]:
        captures = super().keep(parsed, earlier)
        exchange = parsed.exchange
        if not isinstance(exchange, ImportedExchange):
            return captures
        if exchange.record.kind == "resource":
            return (record_capture(exchange.record),)
        return tuple(restored(capture, exchange.record) for capture in captures)

    async def close(self) -> None:
        pass
