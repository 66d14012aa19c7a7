#include "cli/scaffold/framework_text.h"

#include <fmt/core.h>

namespace gpuemu::cli {
namespace {

constexpr const char* kPyTorch =
    R"py("""Checks a function of PyTorch with inputs that gpuemu draws.

Run it: python3 check_example.py
"""
from typing import Annotated

import gpuemu
import torch

Matrix = Annotated[torch.Tensor, gpuemu.Tensor["rows", "cols"]]


def example(x: Matrix):
    """Put the function that you want to check here."""
    return torch.relu(x) * 2


def reference(x):
    """What it should compute; x is a NumPy array of float64."""
    return x.clip(0) * 2


if __name__ == "__main__":
    print(gpuemu.check(example, reference, seed=42))
)py";

constexpr const char* kJax =
    R"py("""Checks a function of JAX with inputs that gpuemu draws.

Run it: python3 check_example.py
"""
from typing import Annotated

import gpuemu
import jax
import jax.numpy as jnp

Matrix = Annotated[jax.Array, gpuemu.Tensor["rows", "cols"]]


@jax.jit
def compiled(x):
    """Put the function that you want to check here."""
    return jnp.maximum(x, 0) * 2


def example(x: Matrix):
    return compiled(x)


def reference(x):
    """What it should compute; x is a NumPy array of float64."""
    return x.clip(0) * 2


if __name__ == "__main__":
    print(gpuemu.check(example, reference, seed=42))
)py";

constexpr const char* kTensorFlow =
    R"py("""Checks a function of TensorFlow with inputs that gpuemu draws.

Run it: python3 check_example.py
"""
from typing import Annotated

import gpuemu
import tensorflow as tf

Matrix = Annotated[tf.Tensor, gpuemu.Tensor["rows", "cols"]]


@tf.function(reduce_retracing=True)
def compiled(x):
    """Put the function that you want to check here."""
    return tf.nn.relu(x) * 2


def example(x: Matrix):
    return compiled(x)


def reference(x):
    """What it should compute; x is a NumPy array of float64."""
    return x.clip(0) * 2


if __name__ == "__main__":
    print(gpuemu.check(example, reference, seed=42))
)py";

constexpr const char* kTriton =
    R"py("""Runs a Triton kernel on gpuemu's emulator, no GPU needed.

Run it: python3 check_kernels.py, or pytest check_kernels.py
{0}"""
import gpuemu
import numpy as np
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def test_add():
    """An access outside of an array, a race and the like raise gpuemu.KernelError with the line."""
    draw = np.random.default_rng(42)
    for n in (1, 255, 256, 1000):
        x, y = draw.standard_normal((2, n)).astype(np.float32)
        out = np.full(n, np.nan, np.float32)
        gpuemu.triton(add)[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
        np.testing.assert_array_equal(out, x + y)


if __name__ == "__main__":
    test_add()
    print("ok: add{1}")
)py";

constexpr const char* kNumba =
    R"py("""Runs a CUDA kernel of Numba on gpuemu's emulator, no GPU needed.

Run it: python3 check_kernels.py, or pytest check_kernels.py
{0}"""
import gpuemu
import numpy as np
from numba import cuda


@gpuemu.numba
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def test_add():
    """An access outside of an array, a race and the like raise gpuemu.KernelError with the line."""
    draw = np.random.default_rng(42)
    for n in (1, 255, 256, 1000):
        x, y = draw.standard_normal((2, n)).astype(np.float32)
        out = np.full(n, np.nan, np.float32)
        add[(n + 255) // 256, 256](x, y, out)
        np.testing.assert_array_equal(out, x + y)


if __name__ == "__main__":
    test_add()
    print("ok: add{1}")
)py";

/// Returns sentences for the top of a program that list the folder's kernels not used in it yet.
std::string not_called_yet(const std::vector<PythonKernel>& found, const char* wrapper) {
  std::string text;
  for (const PythonKernel& kernel : found) {
    text += fmt::format("    {}: {}\n", kernel.file, kernel.name);
  }
  if (text.empty()) return text;
  return fmt::format("\nNot called yet; import each and launch {}(kernel) as below:\n{}", wrapper,
                     text);
}

}  // namespace

std::map<std::string, std::string> framework_files(const std::string& framework,
                                                   const std::vector<PythonKernel>& found) {
  if (framework == "pytorch") return {{"check_example.py", kPyTorch}};
  if (framework == "jax") return {{"check_example.py", kJax}};
  if (framework == "tensorflow") return {{"check_example.py", kTensorFlow}};
  const auto with_list = [&](std::string text, const char* wrapper) {
    text.replace(text.find("{0}"), 3, not_called_yet(found, wrapper));
    const std::string open =
        found.empty() ? "" : fmt::format("; not called yet: {} of this folder", found.size());
    text.replace(text.find("{1}"), 3, open);
    return std::map<std::string, std::string>{{"check_kernels.py", text}};
  };
  if (framework == "triton") return with_list(kTriton, "gpuemu.triton");
  if (framework == "numba") return with_list(kNumba, "gpuemu.numba");
  return {};
}

std::string python_programs_hint(const std::filesystem::path& folder) {
  for (const char* name : kPythonPrograms) {
    const std::filesystem::path program = folder / name;
    std::error_code unreadable;
    if (std::filesystem::exists(program, unreadable)) {
      return fmt::format("; `python3 {}` runs kernels in Python",
                         std::filesystem::proximate(program, unreadable).native());
    }
  }
  return {};
}

}  // namespace gpuemu::cli
