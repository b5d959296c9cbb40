"""The formats of an answer, by name: apart, so that the command line can list them without loading pyarrow."""

from enum import StrEnum


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
