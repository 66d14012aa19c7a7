"""Parts of allocations, which a client with an allocator of its own declares: gpuemu_range_begin and gpuemu_range_end."""
import sys
import textwrap

import pytest

from test_ptx_run import client
from test_run import document
from test_run_devices import BEGIN

# An arena of 4,096 bytes with two parts of 128 bytes.
ARENA = '''
arena = made(cuda.cuMemAlloc_v2, S(4096))
check(cuda.cuMemsetD8_v2(arena, 0, S(4096)))


def at(offset):
    return P(arena.value + offset)


check(cuda.gpuemu_range_begin(at(512), S(128), b"weights"))
check(cuda.gpuemu_range_begin(at(1024), S(128), b"bias"))
'''


@pytest.fixture
def report(tmp_path):
    def work(text):
        program = tmp_path / "program.py"
        program.write_text(BEGIN + ARENA + textwrap.dedent(text))
        done, made = document("--", sys.executable, program)
        assert "Traceback" not in done.stderr, done.stderr
        return done, made["findings"]
    return work


def test_kernels_use_parts_and_copies_use_all_of_the_allocation(report):
    done, findings = report("""
        assert (inc(0, at(512)), inc(0, at(1024))) == (0, 0)
        all = (c.c_int * 1024)()
        check(cuda.cuMemcpyDtoH_v2(all, arena, S(4096)))
        assert sum(all) == 64 and all[128] == all[256] == 1
        check(cuda.cuMemcpyHtoD_v2(arena, (c.c_int * 1024)(*range(1024)), S(4096)))
        assert inc(0, at(512)) == 0
        check(cuda.cuMemcpyDtoH_v2(all, arena, S(4096)))
        assert (all[127], all[128], all[159], all[160]) == (127, 129, 160, 160)
        check(cuda.cuMemFree_v2(arena))
    """)
    assert (done.returncode, findings) == (0, []), findings


@pytest.mark.parametrize("offset, words", [(516, "at byte offset 128 of 'weights', which has 128 bytes"), (1020, "of 'bias'"), (2048, "of 'bias'")])
def test_a_kernel_that_leaves_its_part_is_out_of_bounds(report, offset, words):
    done, (found,) = report(f"print(inc(0, at({offset})))")
    assert (done.stdout, found["kind"]) == ("700\n", "OutOfBounds") and words in found["message"], found
    assert found["allocation"]["bytes"] == 128


def test_a_part_that_ended_counts_as_freed_until_it_begins_again(report):
    done, (found,) = report("""
        check(cuda.gpuemu_range_end(at(512)))
        print(inc(0, at(512)))
        check(cuda.gpuemu_range_begin(at(512), S(256), None))
        print(inc(0, at(512)), inc(0, at(640)))
    """)
    assert done.stdout == "700\n0 0\n" and found["kind"] == "UseAfterFree" and "of 'weights', which was freed" in found["message"], found
    made, freed = (found["allocation"][where][0]["line"] for where in ("stack", "freed"))
    assert made < freed


def test_what_nothing_wrote_in_a_part_stays_undefined(report):
    done, (found,) = report("""
        fresh = made(cuda.cuMemAlloc_v2, S(4096))
        check(cuda.gpuemu_range_begin(fresh, S(256), b"half"))
        check(cuda.cuMemsetD8_v2(fresh, 0, S(128)))
        assert (inc(0, fresh), inc(0, P(fresh.value + 128))) == (0, 0)
        check(cuda.cuMemcpyDtoH_v2((c.c_char * 4096)(), fresh, S(4096)))
    """)
    assert found["kind"] == "UninitializedRead" and "byte offset 128 of 'half'" in found["message"], found


def test_ranges_that_cannot_be_are_refused(report):
    done, findings = report("""
        wrong = [(at(512), 128), (at(500), 16), (at(600), 1000), (at(2048), 0), (at(4000), 200), (P(0), 16)]
        for pointer, bytes in wrong:
            assert cuda.gpuemu_range_begin(pointer, S(bytes), b"wrong") == 1, (pointer, bytes)
        for offset in (0, 516, 2048):
            assert cuda.gpuemu_range_end(at(offset)) == 1
        check(cuda.gpuemu_range_end(at(512)))
        assert cuda.gpuemu_range_end(at(512)) == 1
        check(cuda.cuMemFree_v2(arena))
        assert cuda.gpuemu_range_end(at(1024)) == 1
    """)
    assert (done.returncode, findings) == (0, []), findings


def test_memory_of_the_host_has_parts_too():
    lines = """
library = ctypes.CDLL("libcuda.so.1")
x = (ctypes.c_float * 70)(*range(70))
first, at = x, ctypes.addressof(x)
assert library.gpuemu_range_begin(ctypes.c_void_p(at), ctypes.c_size_t(4 * 70), b"x") == 0
print(scale(at, 70, 2.5), scale(at, 71, 1.0))
"""
    done = client(lines)
    assert done.stdout == "0 700\n", done.stderr
    assert "reads 4 bytes at byte offset 280 of 'x', which has 280 bytes" in done.stderr
