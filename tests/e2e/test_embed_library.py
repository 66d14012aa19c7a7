"""libgpuemu.so as programs of others meet it: installed, compiled against, moved, loaded, left at exit."""
import os
import subprocess

import pytest

from conftest import BIN, ROOT

SOURCES = ROOT / "examples" / "embed"
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]

# Threads that call while main returns: nothing is destroyed first, as in a program that is ended.
LEFT_AT_EXIT = r"""
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <gpuemu/op_call.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { kThreads = 4, kCount = 512 };
static gpuemu_context* context;
static gpuemu_options options;
static gpuemu_code (*create)(const gpuemu_options*, gpuemu_context**);
static void (*destroy)(gpuemu_context*);
static gpuemu_code (*op_call)(gpuemu_context*, const gpuemu_call*);
static gpuemu_code (*op_find)(gpuemu_context*, const char*, uint32_t*);
static gpuemu_code (*allocate)(gpuemu_context*, size_t, void**);
static gpuemu_code (*stream_create)(gpuemu_context*, int32_t, uint32_t, gpuemu_stream*);
static gpuemu_code (*synchronize)(gpuemu_context*, gpuemu_stream);
static gpuemu_code (*fill)(gpuemu_context*, void*, uint8_t, size_t, gpuemu_stream);
static const char* (*last_error)(void);
static pthread_barrier_t called;
static void get(void* library, const char* name, void* function) {
  void* found = dlsym(library, name);
  if (found == NULL) exit(9);
  memcpy(function, &found, sizeof found);
}
static void* work(void* number) {
  char wrong[32];
  uint32_t unused = 0;
  int64_t shape = kCount;
  void *x = NULL, *y = NULL;
  gpuemu_call call;
  gpuemu_context* another = NULL;
  gpuemu_tensor in[2], out[1];
  memset(&call, 0, sizeof call);
  call.struct_bytes = sizeof call;
  if (allocate(context, kCount * 4, &x) || allocate(context, kCount * 4, &y) ||
      stream_create(context, 0, 1, &call.stream) || fill(context, x, 0, kCount * 4, call.stream) ||
      op_find(context, "vector_add", &call.op)) {
    fprintf(stderr, "%s\n", last_error());
    exit(3);
  }
  in[0].data = in[1].data = x;
  out[0].data = y;
  in[0].dtype = in[1].dtype = out[0].dtype = GPUEMU_FLOAT32;
  in[0].rank = in[1].rank = out[0].rank = 1;
  in[0].shape = in[1].shape = out[0].shape = &shape;
  in[0].strides = in[1].strides = out[0].strides = NULL;
  call.inputs = in;
  call.outputs = out;
  call.input_count = 2;
  call.output_count = 1;
  sprintf(wrong, "no_op_of_thread_%d", (int)(size_t)number);
  for (int i = 0;; ++i) {
    if (op_find(context, wrong, &unused) != GPUEMU_NOT_FOUND) exit(4);
    if (op_call(context, &call) != GPUEMU_OK) exit(5);
    if (op_find(context, wrong, &unused) != GPUEMU_NOT_FOUND || strstr(last_error(), wrong) == NULL) {
      fprintf(stderr, "the error of another thread: %s\n", last_error());
      exit(6);
    }
    /* A new context reads the tables of all ops anew. */
    if (number == NULL && (create(&options, &another) != GPUEMU_OK ||
                           op_find(another, "vector_add", &unused) != GPUEMU_OK)) {
      exit(8);
    }
    if (number == NULL) destroy(another);
    if (i % 8 == 7 && synchronize(context, call.stream) != GPUEMU_OK) exit(7);
    if (i == 0) pthread_barrier_wait(&called);
  }
  return NULL;
}
/* Called last, behind all that libraries have registered since: the threads are still at it. */
static void linger(void) { usleep(20000); }
int main(int argc, char** argv) {
  pthread_t thread;
  atexit(linger);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL || argc < 3) return 2;
  get(library, "gpuemu_context_create", &create);
  get(library, "gpuemu_context_destroy", &destroy);
  get(library, "gpuemu_op_call", &op_call);
  get(library, "gpuemu_op_find", &op_find);
  get(library, "gpuemu_memory_allocate", &allocate);
  get(library, "gpuemu_stream_create", &stream_create);
  get(library, "gpuemu_stream_synchronize", &synchronize);
  get(library, "gpuemu_memory_fill", &fill);
  get(library, "gpuemu_last_error", &last_error);
  memset(&options, 0, sizeof options);
  options.struct_bytes = sizeof options;
  options.backend = "emulator";
  options.threads = 2;
  if (create(&options, &context) != GPUEMU_OK) return 3;
  pthread_barrier_init(&called, NULL, kThreads + 1);
  for (size_t i = 0; i < kThreads; ++i) pthread_create(&thread, NULL, work, (void*)i);
  pthread_barrier_wait(&called);
  usleep((useconds_t)atoi(argv[2]));
  dlclose(library);
  puts("left");
  return 0;
}
"""


def done(*command, cwd=None, env=None):
    ran = subprocess.run([str(word) for word in command], cwd=cwd, env={**os.environ, **(env or {})}, text=True, capture_output=True, timeout=300)
    assert ran.returncode == 0, f"{command}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def install(folder):
    if not (BIN.parent / "lib" / "gpuemu" / "libgpuemu.so.1").exists():
        pytest.skip("this build has no libgpuemu.so: it has a sanitizer, or the target libgpuemu is not built")
    done("cmake", "--install", BIN.parent, "--component", "embed", "--prefix", folder)
    return folder


def flags(prefix, *options):
    env = {"PKG_CONFIG_LIBDIR": str(prefix / "lib" / "pkgconfig")}
    return done("pkg-config", *options, "gpuemu", env=env).split()


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installation that was moved after it was made."""
    made = install(tmp_path_factory.mktemp("embed") / "first")
    return made.rename(made.parent / "moved")


def test_an_installation_has_these_files(tmp_path):
    prefix = install(tmp_path / "empty")
    files = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir())
    assert files == ["include/gpuemu/op_call.h", "lib/cmake/gpuemu/gpuemuConfig-release.cmake", "lib/cmake/gpuemu/gpuemuConfig.cmake",
                     "lib/cmake/gpuemu/gpuemuConfigVersion.cmake", "lib/gpuemu/libgpuemu.so", "lib/gpuemu/libgpuemu.so.1",
                     "lib/gpuemu/libgpuemu.so.1.0.0", "lib/pkgconfig/gpuemu.pc"]
    for file in prefix.rglob("*.cmake"):
        assert str(tmp_path) not in file.read_text() and str(BIN.parent) not in file.read_text(), f"{file} names a folder of this machine"


@pytest.mark.parametrize("move", [False, True])
def test_the_mlp_is_compiled_by_plain_cc_and_runs(tmp_path, move):
    prefix = install(tmp_path / "here")
    if move:
        prefix = prefix.rename(tmp_path / "there")
    program = tmp_path / "mlp"
    done("cc", *STRICT, SOURCES / "mlp.c", *flags(prefix, "--cflags", "--libs"), "-o", program)
    needed = done("ldd", program)
    assert f"libgpuemu.so.1 => {prefix}/lib/" in needed and "libstdc++" not in needed and "libfmt" not in needed, needed
    lines = done(program, "--backend", "emulator", "--steps", "101").splitlines()
    assert [line.split()[1] for line in lines] == ["0", "100"]
    assert float(lines[1].split()[2]) < float(lines[0].split()[2])


def test_a_program_in_cpp_uses_it_from_two_threads(tmp_path, prefix):
    program = tmp_path / "softmax"
    done("c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", SOURCES / "softmax.cc", *flags(prefix, "--cflags", "--libs"), "-pthread", "-o", program)
    assert done(program, "emulator").splitlines() == [f"thread {t}, row {r}: 1.00000" for t in (0, 1) for r in (0, 1, 2)]
    refused = subprocess.run([program, "abacus"], capture_output=True, text=True)
    assert refused.returncode == 1 and "GPUEMU_" in refused.stderr and "abacus" in refused.stderr


def test_cmake_finds_it_by_its_own_place(tmp_path, prefix):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(user C)\nfind_package(gpuemu 1 REQUIRED)\n"
        f'add_executable(user "{SOURCES}/mlp.c")\ntarget_link_libraries(user PRIVATE gpuemu::gpuemu)\n')
    done("cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}")
    done("cmake", "--build", tmp_path / "b")
    assert done(tmp_path / "b" / "user", "--backend", "emulator", "--steps", "1").startswith("loss 0 ")
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(user C)\nfind_package(gpuemu 2 REQUIRED)\n")
    refused = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "c", f"-DCMAKE_PREFIX_PATH={prefix}"], capture_output=True, text=True)
    assert refused.returncode != 0 and "1.0.0" in refused.stderr, "another major version is refused"


def test_a_program_loads_it_or_does_without(tmp_path, prefix):
    program = tmp_path / "loaded"
    done("cc", *STRICT, SOURCES / "loaded.c", *flags(prefix, "--cflags"), "-ldl", "-o", program)
    shown = done(program, "emulator", env={"GPUEMU_LIBRARY": str(prefix / "lib" / "gpuemu" / "libgpuemu.so.1")})
    assert shown.startswith("emulator: sm_"), shown
    assert "without gpuemu: " in done(program, env={"GPUEMU_LIBRARY": str(tmp_path / "nowhere.so")})


def test_a_program_ends_cleanly_while_its_threads_are_in_calls(tmp_path, prefix):
    source, program = tmp_path / "left.c", tmp_path / "left"
    source.write_text(LEFT_AT_EXIT)
    done("cc", "-Wall", "-Wextra", "-Werror", source, *flags(prefix, "--cflags"), "-ldl", "-pthread", "-o", program)
    library = prefix / "lib" / "gpuemu" / "libgpuemu.so.1"
    for microseconds in [0, 300, 1000, 3000, 9000, 30000] * 3:
        # What is freed gets other bytes: its use does not go unseen.
        assert done(program, library, microseconds, env={"MALLOC_PERTURB_": "165"}) == "left\n"


def test_the_deb_makes_it_known_to_the_system(tmp_path):
    package = tmp_path / "package"
    home = install(package / "usr" / "lib" / "gpuemu")
    for name in ("bash-completion/completions/gpuemu", "zsh/site-functions/_gpuemu", "fish/vendor_completions.d/gpuemu.fish", "man/man1/gpuemu.1"):
        (home / "share" / name).parent.mkdir(parents=True)
        (home / "share" / name).write_text("")
    done("cmake", "-DCPACK_GENERATOR=DEB", f"-DCPACK_TEMPORARY_DIRECTORY={package}", "-P", ROOT / "packaging" / "link_into_usr.cmake")
    system = package / "usr" / "lib" / "x86_64-linux-gnu"
    assert (system / "libgpuemu.so.1").resolve(strict=True).parent == home / "lib" / "gpuemu"
    assert (package / "usr" / "include" / "gpuemu" / "op_call.h").exists()
    found = done("pkg-config", "--cflags", "--libs", "gpuemu", env={"PKG_CONFIG_LIBDIR": str(system / "pkgconfig")}).split()
    assert found == ["-I/usr/lib/gpuemu/include", "-L/usr/lib/gpuemu/lib/gpuemu", "-Wl,-rpath,/usr/lib/gpuemu/lib/gpuemu", "-lgpuemu"]
    config = (package / "usr" / "lib" / "cmake" / "gpuemu" / "gpuemuConfig.cmake").read_text()
    assert config == "include(/usr/lib/gpuemu/lib/cmake/gpuemu/gpuemuConfig.cmake)\n"
