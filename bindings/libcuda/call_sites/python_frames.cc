#include "bindings/libcuda/call_sites/python_frames.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include <dlfcn.h>

namespace gpuemu::libcuda {
namespace {

constexpr size_t kFramesMax = 16;
constexpr std::string_view kTriton = "triton", kNumba = "numba", kBindings = "cuda";
/// Packages between a program and the driver; their frames say nothing about the program.
constexpr std::string_view kHidden[] = {kTriton, kNumba, kBindings, "torch", "gpuemu"};

/// Finds a function in the process; returns nullptr when no library has it.
template <typename Call>
Call* find(const char* name) {
  return reinterpret_cast<Call*>(dlsym(RTLD_DEFAULT, name));
}

/// The functions of the interpreter that are used here; Python objects are opaque pointers.
struct Interpreter {
  int (*is_initialized)() = find<int()>("Py_IsInitialized");
  int (*is_finalizing)() = find<int()>("Py_IsFinalizing");  ///< Null before Python 3.13.
  int (*ensure)() = find<int()>("PyGILState_Ensure");
  void (*release)(int) = find<void(int)>("PyGILState_Release");
  void* (*frame)() = find<void*()>("PyEval_GetFrame");  ///< Returns a borrowed reference.
  void* (*back)(void*) = find<void*(void*)>("PyFrame_GetBack");
  void* (*code)(void*) = find<void*(void*)>("PyFrame_GetCode");
  int (*line)(void*) = find<int(void*)>("PyFrame_GetLineNumber");
  void* (*attribute)(void*,
                     const char*) = find<void*(void*, const char*)>("PyObject_GetAttrString");
  const char* (*text)(void*) = find<const char*(void*)>("PyUnicode_AsUTF8");
  void* (*globals)(void*) = find<void*(void*)>("PyFrame_GetGlobals");  ///< From Python 3.11 on.
  void* (*item)(void*, const char*) = find<void*(void*, const char*)>("PyDict_GetItemString");
  void (*increase)(void*) = find<void(void*)>("Py_IncRef");
  void (*decrease)(void*) = find<void(void*)>("Py_DecRef");
  void (*clear_error)() = find<void()>("PyErr_Clear");

  bool is_there() const {
    return is_initialized != nullptr && ensure != nullptr && release != nullptr &&
           frame != nullptr && back != nullptr && code != nullptr && line != nullptr &&
           attribute != nullptr && text != nullptr && item != nullptr && increase != nullptr &&
           decrease != nullptr && clear_error != nullptr;
  }
};

std::string attribute_text(const Interpreter& python, void* object, const char* name) {
  void* const value = python.attribute(object, name);
  const char* const text = value == nullptr ? nullptr : python.text(value);
  std::string made = text == nullptr ? "" : text;
  if (text == nullptr) python.clear_error();
  if (value != nullptr) python.decrease(value);
  return made;
}

/// Returns the top-level package whose code the frame runs: "triton".
std::string package_of(const Interpreter& python, void* frame) {
  void* const globals =
      python.globals != nullptr ? python.globals(frame) : python.attribute(frame, "f_globals");
  if (globals == nullptr) {
    python.clear_error();
    return "";
  }
  void* const name = python.item(globals, "__name__");  // A borrowed reference.
  const char* const text = name == nullptr ? nullptr : python.text(name);
  const std::string module = text == nullptr ? "" : text;
  if (text == nullptr) python.clear_error();
  python.decrease(globals);
  return module.substr(0, module.find('.'));
}

/// Returns the node id of the test that pytest runs, from "tests/test_add.py::test_add (call)".
std::string pytest_test() {
  const char* const current = std::getenv("PYTEST_CURRENT_TEST");
  const std::string text = current == nullptr ? "" : current;
  return text.substr(0, text.rfind(" ("));
}

RunFrame describe(const Interpreter& python, void* frame) {
  RunFrame made;
  void* const code = python.code(frame);
  made.function = attribute_text(python, code, "co_name");
  made.file = attribute_text(python, code, "co_filename");
  python.decrease(code);
  const int line = python.line(frame);
  made.line = line < 0 ? 0 : static_cast<uint32_t>(line);
  return made;
}

}  // namespace

PythonStack python_stack() {
  // A program that has an interpreter is linked with it, so one look-up is enough.
  static const Interpreter kPython;
  if (!kPython.is_there() || kPython.is_initialized() == 0) return {};
  if (kPython.is_finalizing != nullptr && kPython.is_finalizing() != 0) return {};
  PythonStack stack;
  const int state = kPython.ensure();
  void* frame = kPython.frame();
  if (frame != nullptr) kPython.increase(frame);
  bool innermost = true;
  while (frame != nullptr) {
    const std::string package = package_of(kPython, frame);
    const bool hidden = std::ranges::find(kHidden, package) != std::end(kHidden);
    if (package != kBindings && std::exchange(innermost, false)) {
      stack.from_triton = package == kTriton;
      stack.from_numba = package == kNumba;
    }
    RunFrame made = hidden ? RunFrame{} : describe(kPython, frame);
    void* const back = kPython.back(frame);
    kPython.decrease(frame);
    frame = back;
    // Frames of the import system say nothing about the program.
    if (!hidden && !made.file.starts_with("<frozen")) stack.frames.push_back(std::move(made));
    if (stack.frames.size() == kFramesMax && frame != nullptr) {
      kPython.decrease(frame);
      break;
    }
  }
  // The interpreter's lock also keeps os.environ from being changed meanwhile.
  stack.test = pytest_test();
  kPython.release(state);
  return stack;
}

}  // namespace gpuemu::libcuda
