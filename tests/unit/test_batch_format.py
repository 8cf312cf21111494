"""Files of replies, whatever a server puts into them."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from fairgate.providers.chat.batch_format import MOST_REQUESTS, read_lines

LINE = b'{"custom_id":"%064x","response":null}\n'


@pytest.mark.parametrize("filling", [b"\n", b" \n", b"0\n", b'{"custom_id":"00"}\n', b"[" * 1023 + b"\n", b" "])
def test_a_file_of_lines_without_end_takes_neither_memory_nor_time(filling: bytes) -> None:
    content = LINE % 1 + filling * (2**26 // len(filling))
    tracemalloc.start()
    began = time.process_time()
    try:
        read = sum(1 for _ in read_lines(content))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read <= MOST_REQUESTS + 1
    assert peak < 2**24
    assert time.process_time() - began < 20


def test_a_line_longer_than_an_answer_is_not_read() -> None:
    long = b'{"custom_id":"01","response":"' + b"x" * 2**24 + b'"}\n'
    assert list(read_lines(LINE % 1 + long + LINE % 2))[1] is None
