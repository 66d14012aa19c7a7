"""gpuemu run: memory that is used after it was freed, freed twice, or freed by the wrong function."""
import sys

import pytest

from test_run import document
from test_run_undefined import ENTRY, PROGRAM

MAKE = {
    "pinned": ("host = c_void_p(); check(cuda.cuMemAllocHost_v2(byref(host), c_size_t(256)))", "cuMemFreeHost", "pinned memory 4"),
    "managed": ("host = c_void_p(); check(cuda.cuMemAllocManaged(byref(host), c_size_t(256), 1))", "cuMemFree_v2", "managed memory 4"),
    "device": ("host = memory()", "cuMemFree_v2", "allocation 4"),
}


def found_in(tmp_path, text):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("PTX", repr(ENTRY.encode()), 1) + text)
    done, report = document("--", sys.executable, program)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout, report["findings"], program.read_text().splitlines()


@pytest.mark.parametrize("kind", MAKE)
def test_a_kernel_that_touches_freed_memory_is_found_with_the_place_of_the_free(tmp_path, kind):
    make, free, name = MAKE[kind]
    printed, findings, lines = found_in(tmp_path, f"""{make}
check(cuda.{free}(host))
launch('move', memory(256), host)
print(cuda.cuCtxSynchronize())
""")
    (found,) = findings
    assert printed == "700\n" and (found["kind"], found["file"], found["line"]) == ("UseAfterFree", "k.cu", 11)
    assert f"of '{name}', which was freed" in found["message"], found["message"]
    made, freed = (found["allocation"][where][0]["line"] for where in ("stack", "freed"))
    assert freed == len(lines) - 2 and (made == freed - 1 or kind == "device")


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("copy", ["cuMemcpyHtoD_v2(x, host, c_size_t(64))", "cuMemcpyDtoH_v2(host, x, c_size_t(64))", "cuMemcpy(x, host, c_size_t(64))"])
def test_a_copy_of_freed_memory_is_refused_and_found(tmp_path, kind, copy):
    if kind == "device":
        copy = "cuMemcpyDtoD_v2(x, host, c_size_t(64))"
    make, free, name = MAKE[kind]
    printed, (found,), lines = found_in(tmp_path, f"{make}\ncheck(cuda.{free}(host))\nprint(cuda.{copy})\n")
    assert printed == "1\n" and found["kind"] == "UseAfterFree" and found["line"] == len(lines)
    assert found["message"] == f"{copy.partition('(')[0].removesuffix('_v2')} of 64 bytes at byte offset 0 of '{name}', which was freed"


@pytest.mark.parametrize("kind", MAKE)
def test_memory_that_is_freed_twice_is_found(tmp_path, kind):
    make, free, name = MAKE[kind]
    printed, (found,), lines = found_in(tmp_path, f"{make}\ncheck(cuda.{free}(host))\nprint(cuda.{free}(host))\n")
    assert printed == "1\n" and found["kind"] == "InvalidFree" and found["line"] == len(lines)
    assert found["message"].endswith(f"is freed already: '{name}'") and found["allocation"]["freed"][0]["line"] == len(lines) - 1


WRONG = {
    "pinned by cuMemFree": (MAKE["pinned"][0], "cuMemFree_v2", 1, "'pinned memory 4': only cuMemFreeHost frees it"),
    "pinned by cuMemFreeAsync": (MAKE["pinned"][0], "cuMemFreeAsync", 1, "'pinned memory 4': only cuMemFreeHost frees it"),
    "device by cuMemFreeHost": (MAKE["device"][0], "cuMemFreeHost", 1, "'allocation 4': only cuMemFree frees it"),
    "managed by cuMemFreeHost": (MAKE["managed"][0], "cuMemFreeHost", 1, "'managed memory 4': only cuMemFree frees it"),
    "pinned by cuMemHostUnregister": (MAKE["pinned"][0], "cuMemHostUnregister", 713, "'pinned memory 4': only cuMemFreeHost frees it"),
    "registered by cuMemFreeHost": ("host = ctypes.cast(HOST, c_void_p); check(cuda.cuMemHostRegister_v2(host, c_size_t(256), 0))", "cuMemFreeHost", 1,
                                    "'registered memory 4': only cuMemHostUnregister frees it"),
}


@pytest.mark.parametrize("name", WRONG)
def test_memory_that_is_freed_by_the_wrong_function_is_found_and_stays(tmp_path, name):
    make, free, code, message = WRONG[name]
    more = ", None" if free == "cuMemFreeAsync" else ""
    printed, (found,), lines = found_in(tmp_path, f"{make}\nprint(cuda.{free}(host{more}))\nlaunch('move', memory(256), host)\nprint(cuda.cuCtxSynchronize())\n")
    assert printed == f"{code}\n0\n" and found["kind"] == "InvalidFree" and found["line"] == len(lines) - 2
    assert found["message"].endswith(message), found["message"]
