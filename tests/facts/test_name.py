"""Names of the files of facts."""

import pytest

from whimbrel.facts.name import ParquetName, is_ours, parquet_name, tail_name, tail_number


def test_a_tail_is_known_by_its_number() -> None:
    assert tail_number(tail_name(17)) == 17
    assert [tail_number(name) for name in ("facts/tail-", "tail-1", "facts/tail-1.tmp", "facts/tail-1\n")] == [None] * 4


def test_a_table_and_its_number_are_in_the_name_of_a_parquet_file() -> None:
    assert parquet_name("facts/blog_post-12.parquet") == ParquetName("blog_post", 12)
    assert parquet_name("facts/blog_post-12.3.parquet") == ParquetName("blog_post", 12)
    assert parquet_name("facts/Pages-1.parquet") is None


@pytest.mark.parametrize("name", ["tail-1", "links-1.parquet", "links-1.2.parquet", "links-1.parquet.tmp"])
def test_files_of_ours_are_known(name: str) -> None:
    assert is_ours(f"facts/{name}")


@pytest.mark.parametrize(
    "name", ["notes.txt", "my.parquet", "tail-1.tmp", "links-1.parquet.tmp.tmp", "../links-1.parquet"]
)
def test_files_of_others_are_left_alone(name: str) -> None:
    assert not is_ours(f"facts/{name}")
