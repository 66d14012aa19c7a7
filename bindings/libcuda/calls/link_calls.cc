// Implements cuLink* for PTX: the linked image is the concatenated text, compiled when it is
// loaded.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "bindings/libcuda/calls/call_names.h"
#include "bindings/libcuda/images.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

constexpr int kInputPtx = 1, kInputTypes = 7;

/// Whether the line is a directive that a module has once; all texts but the first lose it.
bool is_module_directive(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == line.npos) return false;
  const std::string_view text = line.substr(begin);
  return text.starts_with(".version") || text.starts_with(".target") ||
         text.starts_with(".address_size");
}

void append(std::string& all, std::string_view text) {
  if (all.empty()) {
    all = text;
  } else {
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      if (!is_module_directive(line)) all.append(line);
      all.push_back('\n');
      at = end + 1;
    }
  }
  all.push_back('\n');
}

int add_text(LinkerState& state, int type, std::string_view text, const char* name) {
  if (type < 0 || type >= kInputTypes) return CUDA_ERROR_INVALID_VALUE;
  if (type != kInputPtx) {
    return unsupported_call("cuLinkAddData of machine code");
  }
  if (name != nullptr && text.empty()) return CUDA_ERROR_INVALID_IMAGE;
  append(state.ptx, text.substr(0, std::min(text.find('\0'), text.size())));
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

GPUEMU_DRIVER_API int cuLinkCreate_v2(unsigned, const int*, void* const*, Linker* linker) {
  return driver_call([&](Process& driver) -> int {
    if (const Place place = current_place(); place.code != CUDA_SUCCESS) return place.code;
    if (linker == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *linker = driver.linkers.add(std::make_shared<LinkerState>());
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
    if (state.ptx.empty()) return CUDA_ERROR_INVALID_IMAGE;
    *image = state.ptx.data();
    if (bytes != nullptr) *bytes = state.ptx.size() + 1;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuLinkDestroy(Linker linker) {
  return driver_call([&](Process& driver) -> int {
    return driver.linkers.remove(linker) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  });
}

}  // namespace gpuemu::libcuda
