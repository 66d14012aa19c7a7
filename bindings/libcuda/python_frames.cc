#include "bindings/libcuda/python_frames.h"

#include <dlfcn.h>

namespace gpuemu::libcuda {
namespace {

constexpr size_t kFramesMax = 16;

template <typename Call>
void find(Call& call, const char* name) {
  call = reinterpret_cast<Call>(dlsym(RTLD_DEFAULT, name));
}

/// The interpreter's functions that are used; objects are opaque.
struct Interpreter {
  int (*is_initialized)() = nullptr;
  int (*is_finalizing)() = nullptr;  ///< Null before Python 3.13.
  int (*ensure)() = nullptr;
  void (*release)(int) = nullptr;
  void* (*frame)() = nullptr;  ///< Borrowed.
  void* (*back)(void*) = nullptr;
  void* (*code)(void*) = nullptr;
  int (*line)(void*) = nullptr;
  void* (*attribute)(void*, const char*) = nullptr;
  const char* (*text)(void*) = nullptr;
  void (*increase)(void*) = nullptr;
  void (*decrease)(void*) = nullptr;
  void (*clear_error)() = nullptr;

  bool is_there() const {
    return is_initialized != nullptr && ensure != nullptr && release != nullptr &&
           frame != nullptr && back != nullptr && code != nullptr && line != nullptr &&
           attribute != nullptr && text != nullptr && increase != nullptr && decrease != nullptr &&
           clear_error != nullptr;
  }
};

Interpreter look_up() {
  Interpreter made;
  find(made.is_initialized, "Py_IsInitialized");
  find(made.is_finalizing, "Py_IsFinalizing");
  find(made.ensure, "PyGILState_Ensure");
  find(made.release, "PyGILState_Release");
  find(made.frame, "PyEval_GetFrame");
  find(made.back, "PyFrame_GetBack");
  find(made.code, "PyFrame_GetCode");
  find(made.line, "PyFrame_GetLineNumber");
  find(made.attribute, "PyObject_GetAttrString");
  find(made.text, "PyUnicode_AsUTF8");
  find(made.increase, "Py_IncRef");
  find(made.decrease, "Py_DecRef");
  find(made.clear_error, "PyErr_Clear");
  return made;
}

std::string attribute_text(const Interpreter& python, void* object, const char* name) {
  void* const value = python.attribute(object, name);
  const char* const text = value == nullptr ? nullptr : python.text(value);
  std::string made = text == nullptr ? "" : text;
  if (text == nullptr) python.clear_error();
  if (value != nullptr) python.decrease(value);
  return made;
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

std::vector<RunFrame> python_frames() {
  // Whoever embeds an interpreter has linked it, so that it is there from the start.
  static const Interpreter kPython = look_up();
  if (!kPython.is_there() || kPython.is_initialized() == 0) return {};
  if (kPython.is_finalizing != nullptr && kPython.is_finalizing() != 0) return {};
  std::vector<RunFrame> frames;
  const int state = kPython.ensure();
  void* frame = kPython.frame();
  if (frame != nullptr) kPython.increase(frame);
  while (frame != nullptr) {
    RunFrame made = describe(kPython, frame);
    void* const back = kPython.back(frame);
    kPython.decrease(frame);
    frame = back;
    // The import system runs modules.
    if (!made.file.starts_with("<frozen")) frames.push_back(std::move(made));
    if (frames.size() == kFramesMax && frame != nullptr) {
      kPython.decrease(frame);
      break;
    }
  }
  kPython.release(state);
  return frames;
}

}  // namespace gpuemu::libcuda
