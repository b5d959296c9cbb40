"""How RocksDB keeps each space."""

from typing import Any, Final

from whimbrel.flow import Config

_METADATA_BLOCK_BYTES: Final = 16_384
_FILTER_SHARE: Final = 0.02
"""Of a write buffer."""


class RocksConfig(Config, frozen=True):
    directory: str = ""
    """The crawl's directory; the database is its `state` folder."""
    cache_bytes: int = 48_000_000
    """Blocks of the database kept in memory, indexes and filters included."""
    write_buffer_bytes: int = 16_000_000
    """Of each space, before it is written out as a file."""
    unwritten_bytes: int = 32_000_000
    """Of all spaces together."""


def space_options(config: RocksConfig, cache: Any, *, point: bool) -> Any:
    """Of one space; `point`: single keys are looked up. Readers need the same ones: without them RocksDB takes what is
    damaged for what was never there."""
    from rocksdict import BlockBasedIndexType, BlockBasedOptions, DBCompressionType, Options

    table = BlockBasedOptions()
    table.set_block_cache(cache)
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    # In pieces: the filter of a file of millions of keys is larger than one of the cache's 64 shards, and would be
    # read again for every lookup.
    table.set_index_type(BlockBasedIndexType.two_level_index_search())
    table.set_metadata_block_size(_METADATA_BLOCK_BYTES)
    table.set_pin_top_level_index_and_filter(True)
    if point:
        table.set_bloom_filter(10, False)  # noqa: FBT003
        table.set_partition_filters(True)
    options = Options(raw_mode=True)
    if point:
        # Most keys that are asked for are not there: a filter saves the walk through what is not written out yet.
        options.set_memtable_prefix_bloom_ratio(_FILTER_SHARE)
        options.set_memtable_whole_key_filtering(True)
    options.create_if_missing(True)  # noqa: FBT003
    options.create_missing_column_families(True)  # noqa: FBT003
    options.set_block_based_table_factory(table)
    options.set_write_buffer_size(config.write_buffer_bytes)
    options.set_compression_type(DBCompressionType.none() if point else DBCompressionType.lz4())
    options.set_max_background_jobs(2)
    options.set_keep_log_file_num(2)
    options.set_db_write_buffer_size(config.unwritten_bytes)
    options.set_max_total_wal_size(4 * config.unwritten_bytes)
    options.set_max_open_files(256)
    return options
