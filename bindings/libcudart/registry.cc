// Implements the functions of crt/host_runtime.h: the registration of fat binaries, kernels and
// variables. Nothing is loaded before the first use of a kernel or variable.
#include "bindings/libcudart/registry.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

struct ManagedVariable {
  std::string name;
  void** shadow = nullptr;  ///< The host's pointer to it.
};

/// A fat binary. Its members are guarded by the registry's mutex.
struct Binary {
  const FatBinaryWrapper* wrapper = nullptr;
  bool is_loaded = false;
  int code = cudaSuccess;
  Library library = nullptr;
  std::vector<ManagedVariable> managed;
};

struct Entry {
  Binary* binary = nullptr;
  std::string name;
  Kernel kernel = nullptr;
};

struct Registry {
  std::recursive_mutex mutex;
  std::map<const void*, Entry> kernels, variables;
};
Registry& registry() {
  static Registry* const kRegistry = new Registry;
  return *kRegistry;
}

constexpr int kLinkedVersion = 2;

/// Links the parts of a program built from relocatable device code. A part is a container; its
/// header has the size.
int link_parts(void* const* parts, std::vector<std::byte>& image) {
  Linker linker = nullptr;
  int code = cuLinkCreate_v2(0, nullptr, nullptr, &linker);
  for (; code == cudaSuccess && *parts != nullptr; ++parts) {
    uint16_t header_bytes = 0;
    uint64_t body_bytes = 0;
    const auto* const part = static_cast<const std::byte*>(*parts);
    std::memcpy(&header_bytes, part + 6, sizeof header_bytes);
    std::memcpy(&body_bytes, part + 8, sizeof body_bytes);
    code = hooks().add_object(linker, *parts, header_bytes + body_bytes);
  }
  void* linked = nullptr;
  size_t bytes = 0;
  if (code == cudaSuccess) code = cuLinkComplete(linker, &linked, &bytes);
  if (code == cudaSuccess) {
    const auto* const begin = static_cast<const std::byte*>(linked);
    image.assign(begin, begin + bytes);
  }
  if (linker != nullptr) (void)cuLinkDestroy(linker);
  return code;
}

int load_image(const void* image, Library& library) {
  std::array<char, 4096> log{};
  const int option_ids[] = {libcuda::kJitErrorLog, libcuda::kJitErrorLogBytes};
  void* const values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  const int code = cuLibraryLoadData(&library, image, option_ids, values, 2, nullptr, nullptr, 0);
  if (code != cudaSuccess && log[0] != '\0') {
    std::fprintf(stderr, "gpuemu: cannot load the kernels of the program: %s\n", log.data());
  }
  return code;
}

/// Sets the host's pointers to managed variables to their addresses in the current context.
int set_managed(Binary& binary) {
  for (const ManagedVariable& one : binary.managed) {
    Address address = 0;
    size_t bytes = 0;
    const int code = cuLibraryGetGlobal(&address, &bytes, binary.library, one.name.c_str());
    if (code != cudaSuccess) return code;
    *one.shadow = reinterpret_cast<void*>(address);
  }
  return cudaSuccess;
}

/// Loads a fat binary at its first use. The registry's mutex is held.
int load(Binary& binary) {
  if (binary.is_loaded) return binary.code;
  binary.is_loaded = true;
  std::vector<std::byte> linked;
  const void* image = binary.wrapper;
  if (binary.wrapper->version == kLinkedVersion && binary.wrapper->file_name_or_parts != nullptr) {
    binary.code = link_parts(static_cast<void* const*>(binary.wrapper->file_name_or_parts), linked);
    image = linked.data();
  }
  if (binary.code == cudaSuccess) binary.code = load_image(image, binary.library);
  if (binary.code == cudaSuccess) binary.code = set_managed(binary);
  return binary.code;
}

Binary* binary_of(void** handle) { return reinterpret_cast<Binary*>(handle); }

}  // namespace

FoundKernel find_kernel(const void* function) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto known = all.kernels.find(function);
  if (known == all.kernels.end()) {
    auto* const kernel = static_cast<Kernel>(const_cast<void*>(function));
    const char* name = nullptr;
    if (cuKernelGetName(&name, kernel) == cudaSuccess) return {cudaSuccess, kernel, name};
    return {cudaErrorInvalidDeviceFunction, nullptr, {}};
  }
  Entry& entry = known->second;
  if (entry.kernel == nullptr) {
    int code = load(*entry.binary);
    if (code == cudaSuccess) {
      code = cuLibraryGetKernel(&entry.kernel, entry.binary->library, entry.name.c_str());
      if (code == cudaErrorSymbolNotFound) code = cudaErrorInvalidDeviceFunction;
    }
    if (code != cudaSuccess) return {code, nullptr, entry.name};
  }
  return {cudaSuccess, entry.kernel, entry.name};
}

const void* host_function_of(Kernel kernel) {
  const std::lock_guard lock(registry().mutex);
  for (const auto& [function, entry] : registry().kernels) {
    if (entry.kernel == kernel) return function;
  }
  return nullptr;
}

FoundVariable find_variable(const void* symbol) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  auto known = all.variables.find(symbol);
  if (known == all.variables.end()) {
    // The host's name of a managed variable refers to the variable itself.
    for (auto& [shadow, entry] : all.variables) {
      for (const ManagedVariable& one : entry.binary->managed) {
        if (one.shadow == shadow && *one.shadow == symbol) known = all.variables.find(shadow);
      }
    }
  }
  if (known == all.variables.end()) return {cudaErrorInvalidSymbol};
  FoundVariable found;
  Entry& entry = known->second;
  found.code = load(*entry.binary);
  if (found.code != cudaSuccess) return found;
  found.code =
      cuLibraryGetGlobal(&found.address, &found.bytes, entry.binary->library, entry.name.c_str());
  if (found.code == cudaErrorSymbolNotFound) found.code = cudaErrorInvalidSymbol;
  return found;
}

GPUEMU_RUNTIME_API void** __cudaRegisterFatBinary(void* wrapper) {
  auto* const made = new Binary;
  made->wrapper = static_cast<const FatBinaryWrapper*>(wrapper);
  return reinterpret_cast<void**>(made);
}

GPUEMU_RUNTIME_API void __cudaRegisterFatBinaryEnd(void**) {}

GPUEMU_RUNTIME_API void __cudaUnregisterFatBinary(void** handle) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const Binary* const gone = binary_of(handle);
  const auto belongs = [&](const auto& one) { return one.second.binary == gone; };
  std::erase_if(all.kernels, belongs);
  std::erase_if(all.variables, belongs);
  if (gone->library != nullptr) (void)cuLibraryUnload(gone->library);
  delete gone;
}

GPUEMU_RUNTIME_API char __cudaInitModule(void** handle) {
  const CallScope scope("__cudaInitModule");
  if (start() != cudaSuccess || enter() != cudaSuccess) return 0;
  const std::lock_guard lock(registry().mutex);
  return static_cast<char>(load(*binary_of(handle)) == cudaSuccess);
}

GPUEMU_RUNTIME_API void __cudaRegisterFunction(void** handle, const char* host_function, char*,
                                               const char* name, int, void*, void*, void*, void*,
                                               int*) {
  const std::lock_guard lock(registry().mutex);
  registry().kernels[host_function] = {binary_of(handle), name, nullptr};
}

GPUEMU_RUNTIME_API void __cudaRegisterVar(void** handle, char* host_variable, char*,
                                          const char* name, int, size_t, int, int) {
  const std::lock_guard lock(registry().mutex);
  registry().variables[host_variable] = {binary_of(handle), name, nullptr};
}

GPUEMU_RUNTIME_API void __cudaRegisterManagedVar(void** handle, void** shadow, char*,
                                                 const char* name, int, size_t, int, int) {
  const std::lock_guard lock(registry().mutex);
  registry().variables[shadow] = {binary_of(handle), name, nullptr};
  binary_of(handle)->managed.push_back({name, shadow});
}

/// Registers a host variable that kernels use; on these devices kernels cannot access it.
GPUEMU_RUNTIME_API void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}

}  // namespace gpuemu::libcudart
