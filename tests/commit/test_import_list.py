"""The list of an import proves itself whole."""

import msgspec

from whimbrel.commit.import_list import ImportedFile, encode, is_of, list_problem

FILES = [ImportedFile("/a/é.warc.gz", 12), ImportedFile("/b.warc", 3)]


def test_every_byte_that_changed_in_the_list_of_an_import_is_found() -> None:
    data = encode(FILES)
    assert list_problem(data) == ""
    for at in range(len(data)):
        for mask in (1, 0x20, 0x80):
            changed = data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]
            assert list_problem(changed) == "is damaged", (at, mask)


def test_a_list_is_json_and_names_its_files() -> None:
    *files, _ = msgspec.json.decode(encode(FILES))
    assert files == msgspec.to_builtins(FILES)
    assert is_of(FILES, encode(FILES))
    assert not is_of(FILES[:1], encode(FILES))


def test_the_lists_of_earlier_versions_are_still_read() -> None:
    for data in (b"", msgspec.json.encode(FILES)):
        assert list_problem(data) == ""
        assert is_of(FILES, data)
