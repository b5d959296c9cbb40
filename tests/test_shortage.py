"""What this machine lacks, by what systems and libraries say."""

import errno

import pytest

from whimbrel.shortage import shortage_of


@pytest.mark.parametrize(
    ("error", "resource"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "disk"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "memory"),
        (OSError("facts/tail-1 could not be written as Parquet: Couldn't serialize thrift: std::bad_alloc"), "memory"),
        (OSError("facts/tail-1 could not be written: [digital envelope routines] initialization error"), "memory"),
        (OSError(errno.EIO, "Input/output error"), "directory"),
    ],
)
def test_a_shortage_names_the_resource(error: OSError, resource: str) -> None:
    assert shortage_of(error).resource == resource
