#include "bindings/libptx/host_memory.h"

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string_view>

extern "C" {
int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags);
int cuMemHostUnregister(void* memory);
}

namespace gpuemu::libptx {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};

/// Returns the readable and writable mappings of this process: bytes by address.
std::map<uint64_t, uint64_t> writable_mappings() {
  std::map<uint64_t, uint64_t> found;
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen("/proc/self/maps", "re"));
  char line[512];
  while (file != nullptr && std::fgets(line, sizeof line, file.get()) != nullptr) {
    uint64_t begin = 0, end = 0;
    char access[5] = {};
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, access) != 3) continue;
    if (std::string_view(access).starts_with("rw")) found[begin] = end - begin;
  }
  return found;
}

}  // namespace

void HostMemory::update() {
  const std::map<uint64_t, uint64_t> now = writable_mappings();
  std::erase_if(registered_, [&](const auto& one) {
    const auto same = now.find(one.first);
    if (same != now.end() && same->second == one.second) return false;
    (void)cuMemHostUnregister(reinterpret_cast<void*>(one.first));
    return true;
  });
  for (const auto& [begin, bytes] : now) {
    if (registered_.contains(begin)) continue;
    // Memory of the device itself is rejected, and need not be registered.
    if (cuMemHostRegister_v2(reinterpret_cast<void*>(begin), bytes, 0) == 0) {
      registered_[begin] = bytes;
    }
  }
}

}  // namespace gpuemu::libptx
