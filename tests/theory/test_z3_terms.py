"""The terms of one z3 context are read and printed by several threads and forked processes."""

import multiprocessing as mp
import os
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest
import z3

from smtlayer.theory import values
from smtlayer.theory.values import rounded, text_of

# z3 prints all terms of a context into one buffer: threads without a lock mix texts up, or crash.


def test_threads_read_terms_at_the_same_time():
    terms = [z3.Int(f"a_rather_long_name_{i}") + i == 2 * i for i in range(400)]
    expected = [f"a_rather_long_name_{i} + {i} == {2 * i}" for i in range(400)]
    with ThreadPoolExecutor(4) as pool:
        asked = [list(pool.map(text_of, terms)) for _ in range(5)]
    assert asked == [expected] * 5


def test_threads_round_numbers_at_the_same_time():
    x = z3.FP("x", z3.Float32())
    numbers = [i / 10 for i in range(400)]
    expected = [struct.unpack("f", struct.pack("f", number))[0] for number in numbers]
    with ThreadPoolExecutor(4) as pool:
        asked = [list(pool.map(lambda number: rounded(number, x), numbers)) for _ in range(5)]
    assert asked == [expected] * 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_while_a_term_is_read_reads_terms():
    with values.term_lock.get():  # as another thread of the parent may
        child = mp.get_context("fork").Process(target=text_of, args=[z3.Int("x") > 1])
        child.start()
        child.join(300)
    hangs = child.is_alive()
    child.kill()
    child.join()
    assert not hangs
    assert child.exitcode == 0
