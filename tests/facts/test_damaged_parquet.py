"""What is asked of a Parquet file before its digest is known, or without one, stands any damage."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from whimbrel.facts.parquet import last_commit, row_count_problem
from whimbrel.query.snapshot import has_readable_names


def test_no_byte_of_a_parquet_file_can_end_a_look_at_it_in_a_traceback(tmp_path: Path) -> None:
    path, rows = tmp_path / "captures-1.parquet", pa.table({"url": ["a", "b"], "title": ["one", "two"]})
    with pq.ParquetWriter(path, rows.schema, store_schema=False) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata({"whimbrel.commits": "1 3 1:1 3:1"})
    assert (last_commit(path), row_count_problem(path)) == (3, "")
    data = path.read_bytes()
    for at in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            path.write_bytes(data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :])
            assert last_commit(path) >= 0
            assert isinstance(row_count_problem(path), str)
            assert has_readable_names(str(path)) in (True, False)
