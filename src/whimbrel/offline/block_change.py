"""Blocks and unblocks in the job of a crawl that does not run."""

from contextlib import nullcontext
from pathlib import Path

import msgspec

from whimbrel.commit.committed import NotACrawl
from whimbrel.control.api import Block, Done, Unblock
from whimbrel.control.block import block_effect, less_blocked, more_blocked, unblock_effect
from whimbrel.job.crawl import check_free
from whimbrel.job.options import JOB_FILE, CrawlOptions, ResolvedOptions, combined
from whimbrel.job.stored import keep_job, stored_job
from whimbrel.state.lock import locked
from whimbrel.state.rocks import RocksState

_ORIGIN = "control"


def change_block(directory: Path, action: Block | Unblock) -> Done:
    """Busy when a crawl runs there, Refused when nothing would change, NotACrawl where there is no job."""
    check_free(directory)
    if not (directory / JOB_FILE).is_file():
        raise NotACrawl(f"{directory} holds no crawl; begin one with `whimbrel crawl SEED --into {directory}`")
    state = directory / RocksState.folder
    with locked(state, directory) if state.is_dir() else nullcontext():
        kept = stored_job(directory)
        known = kept.options.block
        if isinstance(action, Block):
            after = more_blocked(known, action)
            effect = block_effect(after[len(known) :], 0, ends=False)
        else:
            after, effect = less_blocked(known, action), unblock_effect(action)
        combined([(_ORIGIN, {"block": list(after)})])  # OptionError for what cannot be blocked.
        keep_job(directory, _with_block(kept, after))
    said = f"{effect}. No crawl runs now: its job is changed. To go on: whimbrel resume {directory}"
    return Done(action=type(action).__name__.lower(), effect=said, count=len(action.what))


def _with_block(kept: ResolvedOptions, block: tuple[str, ...]) -> ResolvedOptions:
    origins = {**kept.origins, "block": _ORIGIN}
    if block == CrawlOptions().block:
        del origins["block"]
    return ResolvedOptions(msgspec.structs.replace(kept.options, block=block), origins)
