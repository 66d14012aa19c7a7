"""The registers and spills of Triton's kernels, as its assembler counts them: programs divide by the number of registers to choose a
grid, and the emulator has none."""

from __future__ import annotations

import inspect
import re
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

_REGISTERS = re.compile(r"\bUsed (\d+) registers")
_STACK = re.compile(r"\b(\d+) bytes stack frame")
_WORD_BYTES = 4  # Triton counts spills in words.


class _Count:
    """One of the numbers, as an attribute of every compiled kernel. The assembler takes tenths of a second, and few programs read the
    numbers, so it runs when one is read."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __get__(self, kernel: Any, owner: type | None = None) -> Any:
        if kernel is None:
            return self
        if kernel.module is None:  # Triton has no numbers before it loads a kernel.
            raise AttributeError("Triton loads a kernel when it is launched first; read its registers after that")
        known = kernel.__dict__
        if "_gpuemu_counts" not in known:
            known["_gpuemu_counts"] = counts(kernel)
        return known["_gpuemu_counts"][self.index]

    def __set__(self, kernel: Any, from_driver: int) -> None:
        """Ignores the driver's number: the emulator has no registers."""


def prepare() -> None:
    from triton.compiler.compiler import CompiledKernel

    CompiledKernel.n_regs = _Count(0)
    CompiledKernel.n_spills = _Count(1)


def counts(kernel: Any) -> tuple[int, int]:
    """Returns registers per thread and spilled words; both are 0, with a warning, if there is no assembler or if it
    rejects the kernel."""
    options, arch = kernel.metadata, kernel.metadata.target.arch
    suffix = "a" if arch >= 90 else ""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(kernel.asm["ptx"])
        try:
            words = [_assembler(arch), "-v", f"--gpu-name=sm_{arch}{suffix}", source, "-o", source.with_suffix(".o"),
                     *([] if getattr(options, "enable_fp_fusion", True) else ["--fmad=false"]), *(getattr(options, "ptx_options", None) or "").split()]  # fmt: skip
            log = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stderr
        except (OSError, ImportError, RuntimeError, subprocess.SubprocessError) as problem:
            why = getattr(problem, "stderr", None) or problem
            warnings.warn(f"n_regs and n_spills of {kernel.name} are 0, because Triton's assembler did not measure it: {why}", stacklevel=3)
            return 0, 0
    own = log.partition(f"Function properties for {kernel.name}\n")[2]
    registers, stack = _REGISTERS.search(own), _STACK.search(own)
    return int(registers[1]) if registers else 0, int(stack[1]) // _WORD_BYTES if stack else 0


def _assembler(arch: int) -> str:
    """Returns the path of ptxas, for which each version of Triton asks in another way."""
    from triton.backends.nvidia import compiler

    if not hasattr(compiler, "get_ptxas"):  # Triton 3.2
        return str(compiler._path_to_binary("ptxas")[0])
    takes_arch = inspect.signature(compiler.get_ptxas).parameters
    found = compiler.get_ptxas(arch) if takes_arch else compiler.get_ptxas()
    return str(found[0] if isinstance(found, tuple) else found.path)  # A tuple in Triton 3.3.
