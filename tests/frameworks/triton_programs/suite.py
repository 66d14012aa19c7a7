"""Tests of a kernel that forgets a mask, for pytest --gpuemu."""
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at), mask=at < n)


def double(n):
    x = torch.rand(n, device="cuda")
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)
    return x, out


def test_whole_blocks():
    x, out = double(512)
    torch.testing.assert_close(out, 2 * x)


def test_a_part_of_a_block():
    double(1000)


def test_that_fails_by_itself():
    double(1000)
    raise AssertionError("of its own")


@pytest.mark.gpuemu_allow("OutOfBounds", reason="is mended in the next release")
def test_that_allows_it():
    double(1000)


@pytest.fixture
def late():
    yield
    double(1000)


def test_that_is_right(late):
    pass


def test_behind_it():
    pass
