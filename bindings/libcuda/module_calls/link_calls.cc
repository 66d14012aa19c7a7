// Implements cuLink* for PTX: the linked image is a text, compiled when it is loaded.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/libcuda/images/images.h"
#include "bindings/libcuda/module_calls/link.h"
#include "bindings/libcuda/modules.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

constexpr int kInputPtx = 1, kInputFatBinary = 2, kInputLibrary = 4, kInputTypes = 7;

/// Replaces the machine code of the device runtime library, for kernels that synchronise the whole
/// grid and for those that set a condition of a graph. Each block counts itself once; the count of
/// a barrier is a multiple of the number of blocks.
constexpr std::string_view kDeviceRuntimeMember = "cuda_device_runtime.o";  ///< In libcudadevrt.a.
constexpr std::string_view kDeviceRuntimeNames[] = {"cudaCGGetIntrinsicHandle", "cudaCGSynchronize",
                                                    "cudaGraphSetConditional"};
constexpr std::string_view kDeviceRuntime = R"(
.visible .func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope) {
  .reg .b64 %handle;
  mov.u64 %handle, 1;
  st.param.b64 [result], %handle;
  ret;
}
.visible .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags) {
  .reg .b32 %n<10>; .reg .b64 %counter; .reg .pred %p<3>;
  mov.u32 %n1, %tid.x; mov.u32 %n2, %tid.y; mov.u32 %n3, %tid.z;
  or.b32 %n1, %n1, %n2; or.b32 %n1, %n1, %n3;
  setp.ne.u32 %p1, %n1, 0;
  membar.gl;
  bar.sync 0;
  @%p1 bra MEET;
  mov.u32 %n2, %envreg1; mov.u32 %n3, %envreg2; mov.b64 %counter, {%n3, %n2};
  mov.u32 %n4, %nctaid.x; mov.u32 %n5, %nctaid.y; mul.lo.u32 %n4, %n4, %n5;
  mov.u32 %n5, %nctaid.z; mul.lo.u32 %n4, %n4, %n5;
  atom.add.u32 %n6, [%counter+4], 1;
  div.u32 %n7, %n6, %n4; mad.lo.u32 %n7, %n7, %n4, %n4;
WAIT:
  ld.volatile.u32 %n8, [%counter+4];
  sub.u32 %n8, %n8, %n7;
  setp.lt.s32 %p2, %n8, 0;
  @%p2 bra WAIT;
  membar.gl;
MEET:
  bar.sync 0;
  mov.u32 %n9, 0;
  st.param.b32 [result], %n9;
  ret;
}
.visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value) {
  .reg .b32 %value; .reg .b64 %handle;
  ld.param.b64 %handle, [handle];
  ld.param.b32 %value, [value];
  st.global.b32 [%handle], %value;
  ret;
}
)";

void add_ptx(LinkerState& state, std::string_view text, const char* name) {
  std::string known = name == nullptr ? "" : name;
  if (known.empty()) known = "input " + std::to_string(state.inputs.size() + 1);
  state.inputs.push_back({std::move(known), std::string(text)});
}

/// Adds the PTX of a fat binary.
int add_fat_binary(LinkerState& state, std::string_view bytes, const char* name) {
  const Image image = read_image_bytes(std::string(bytes), process()->settings.devices.front().sm);
  if (image.code != CUDA_SUCCESS) {
    say_once(image.problem, image.problem);
    return image.code;
  }
  add_ptx(state, image.ptx, name);
  return CUDA_SUCCESS;
}

int add_text(LinkerState& state, int type, std::string_view text, const char* name) {
  if (type < 0 || type >= kInputTypes) return CUDA_ERROR_INVALID_VALUE;
  if (type == kInputLibrary && text.find(kDeviceRuntimeMember) != text.npos) {
    state.has_device_runtime = true;
    return CUDA_SUCCESS;
  }
  if (type == kInputFatBinary) return add_fat_binary(state, text, name);
  if (type != kInputPtx) {
    return unsupported_call("cuLinkAddData of machine code");
  }
  if (name != nullptr && text.empty()) return CUDA_ERROR_INVALID_IMAGE;
  add_ptx(state, text.substr(0, std::min(text.find('\0'), text.size())), name);
  return CUDA_SUCCESS;
}

int refuse_link(const LinkerState& state, const std::string& why, int code) {
  write_log(state.logs, why);
  if (state.logs.error == nullptr) say_once(why, why);
  return code;
}

std::string in_lines(const std::vector<std::string>& texts) {
  std::string lines;
  for (const std::string& one : texts) lines += (lines.empty() ? "" : "\n") + one;
  return lines;
}

/// Links the image. Conflicts between inputs are reported in the log and on stderr.
int link_inputs(LinkerState& state) {
  const bool is_called = std::ranges::any_of(state.inputs, [](const ptx::LinkInput& one) {
    return std::ranges::any_of(kDeviceRuntimeNames, [&](std::string_view name) {
      return one.text.find(name) != one.text.npos;
    });
  });
  if (is_called && std::exchange(state.has_device_runtime, false)) {
    state.inputs.push_back({"the device runtime", std::string(kDeviceRuntime)});
  }
  auto linked = ptx::link(state.inputs);
  if (!linked) return refuse_link(state, linked.error().message, CUDA_ERROR_INVALID_PTX);
  if (!linked->conflicts.empty() && !state.allows_conflicts) {
    return refuse_link(state, in_lines(linked->conflicts), CUDA_ERROR_INVALID_SOURCE);
  }
  std::vector<std::string> told = linked->warnings;
  for (const std::string& one : linked->conflicts) told.push_back(one + " (linked nevertheless)");
  for (const std::string& one : told) say_once(one, one);
  if (!told.empty()) write_log(state.logs, in_lines(told));
  state.ptx = std::move(linked->text);
  return CUDA_SUCCESS;
}

template <typename Work>
int with_linker(Linker linker, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.linkers.find(linker);
    return state == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_HANDLE) : work(*state);
  });
}

}  // namespace

int add_object(Linker linker, const void* container, size_t bytes) {
  return with_linker(linker, [&](LinkerState& state) -> int {
    const int sm = process()->settings.devices.front().sm;
    const Image image =
        read_image_bytes(std::string(static_cast<const char*>(container), bytes), sm);
    if (image.code == CUDA_ERROR_NO_BINARY_FOR_GPU) {
      state.has_device_runtime = true;
      state.without_ptx = image.problem;
      return CUDA_SUCCESS;
    }
    if (image.code != CUDA_SUCCESS) {
      say_once(image.problem, image.problem);
      return image.code;
    }
    add_ptx(state, image.ptx, nullptr);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuLinkCreate_v2(unsigned count, const int* options, void* const* values,
                                      Linker* linker) {
  return driver_call([&](Process& driver) -> int {
    if (const Place place = current_place(); place.code != CUDA_SUCCESS) return place.code;
    if (linker == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto made = std::make_shared<LinkerState>();
    made->logs = logs_of(count, options, values);
    *linker = driver.linkers.add(std::move(made));
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuLinkCreate(unsigned count, const int* options, void* const* values,
                                   Linker* linker) {
  return cuLinkCreate_v2(count, options, values, linker);
}

GPUEMU_DRIVER_API int cuLinkAddData_v2(Linker linker, int type, const void* data, size_t bytes,
                                       const char* name, unsigned, const int*, void* const*) {
  return with_linker(linker, [&](LinkerState& state) -> int {
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return add_text(state, type, {static_cast<const char*>(data), bytes}, name);
  });
}

GPUEMU_DRIVER_API int cuLinkAddData(Linker linker, int type, const void* data, size_t bytes,
                                    const char* name, unsigned count, const int* options,
                                    void* const* values) {
  return cuLinkAddData_v2(linker, type, data, bytes, name, count, options, values);
}

GPUEMU_DRIVER_API int cuLinkAddFile_v2(Linker linker, int type, const char* path, unsigned,
                                       const int*, void* const*) {
  return with_linker(linker, [&](LinkerState& state) -> int {
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::ifstream file(path, std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return add_text(state, type, text, path);
  });
}

GPUEMU_DRIVER_API int cuLinkAddFile(Linker linker, int type, const char* path, unsigned count,
                                    const int* options, void* const* values) {
  return cuLinkAddFile_v2(linker, type, path, count, options, values);
}

/// Returns PTX text for cuModuleLoadData, owned by the linker. The size includes the final zero.
GPUEMU_DRIVER_API int cuLinkComplete(Linker linker, void** image, size_t* bytes) {
  return with_linker(linker, [&](LinkerState& state) -> int {
    if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (state.inputs.empty() && !state.without_ptx.empty()) {
      say_once(state.without_ptx, state.without_ptx);
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (state.inputs.empty()) return CUDA_ERROR_INVALID_IMAGE;
    if (const int code = link_inputs(state); code != CUDA_SUCCESS) return code;
    *image = state.ptx.data();
    if (bytes != nullptr) *bytes = state.ptx.size() + 1;
    return CUDA_SUCCESS;
  });
}

/// For our libnvJitLink: has the linker link what conflicts, and only tell of it.
GPUEMU_DRIVER_API int gpuemu_link_conflicts(Linker linker) {
  return with_linker(linker, [](LinkerState& state) -> int {
    state.allows_conflicts = true;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuLinkDestroy(Linker linker) {
  return driver_call([&](Process& driver) -> int {
    return driver.linkers.remove(linker) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  });
}

}  // namespace gpuemu::libcuda
