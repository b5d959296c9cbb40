"""The effects of visits that others have made."""

from whimbrel.archive.api import Capture
from whimbrel.dedupe.api import FirstCapture
from whimbrel.effect.effects import Effects
from whimbrel.offline.record_capture import record_capture, restored
from whimbrel.offline.warc_reader import ImportedExchange
from whimbrel.outcome import Outcome
from whimbrel.outcome.duplicate import classify_known_payload
from whimbrel.parse.api import Parsed


class ImportEffects(Effects):
    """A crawl's own, but for what the archive keeps: records as they stood. A revisit says itself that its payload is
    not new, however short that is. The reader concludes the import, because only the reader knows whether all files
    were read."""

    via = "import"

    def decide(self, parsed: Parsed) -> tuple[Outcome, str, FirstCapture | None]:
        exchange = parsed.exchange
        original = exchange.original if isinstance(exchange, ImportedExchange) else None
        if original is None or parsed.outcome is not Outcome.STORED:
            return super().decide(parsed)
        earlier = parsed.earlier or original
        return *classify_known_payload(parsed.visit.url.text, earlier.url), earlier

    def keep(self, parsed: Parsed, earlier: FirstCapture | None) -> tuple[Capture, ...]:
        captures = super().keep(parsed, earlier)
        exchange = parsed.exchange
        if not isinstance(exchange, ImportedExchange):
            return captures
        without_body = exchange.record.kind == "revisit" and parsed.outcome is not Outcome.STORED
        if exchange.record.kind == "resource" or without_body:
            return (record_capture(exchange.record),)
        return tuple(restored(capture, exchange.record) for capture in captures)

    async def close(self) -> None:
        pass
