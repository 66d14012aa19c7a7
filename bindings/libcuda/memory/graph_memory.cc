#include "bindings/libcuda/memory/graph_memory.h"

#include <map>
#include <mutex>

#include <sys/mman.h>

namespace gpuemu::libcuda {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kGap = uint64_t{64} << 10;  // Without access, so that overruns hit nothing.
constexpr uint64_t kBytesMax = uint64_t{1} << 40;

struct Reserved {
  std::mutex mutex;
  std::map<uint64_t, std::weak_ptr<GraphMemory>> by_address;
};
Reserved& reserved() {
  static auto* const kAll = new Reserved;
  return *kAll;
}

}  // namespace

uint64_t GraphMemory::page_bytes() const { return (bytes + kPage - 1) / kPage * kPage; }

GraphMemory::GraphMemory(int on_device, uint64_t size) : device(on_device), bytes(size) {
  void* const at = mmap(nullptr, page_bytes() + kGap, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at != MAP_FAILED) address = reinterpret_cast<uint64_t>(at);
}

/// Memory that is still allocated stays allocated, as when the program destroys its graph.
GraphMemory::~GraphMemory() {
  if (address == 0) return;
  {
    const std::lock_guard lock(reserved().mutex);
    reserved().by_address.erase(address);
  }
  Process& driver = *process();
  if (driver.allocations.at(address) == nullptr) {
    driver.allocations.keep_pages(address, page_bytes() + kGap);
  }
}

std::shared_ptr<GraphMemory> graph_memory_holding(uint64_t address) {
  // Outlives the lock: when it was the last one, its destructor takes the lock as well.
  std::shared_ptr<GraphMemory> found;
  const std::lock_guard lock(reserved().mutex);
  const auto next = reserved().by_address.upper_bound(address);
  if (next == reserved().by_address.begin()) return nullptr;
  found = std::prev(next)->second.lock();
  return found != nullptr && address - found->address < found->bytes ? found : nullptr;
}

std::shared_ptr<GraphMemory> reserve_graph_memory(int device, Context context, uint64_t bytes) {
  if (bytes > kBytesMax) return nullptr;
  auto made = std::make_shared<GraphMemory>(device, bytes);
  if (made->address == 0) return nullptr;
  made->context = context;
  process()->allocations.forget_freed(made->address, bytes);
  const std::lock_guard lock(reserved().mutex);
  reserved().by_address[made->address] = made;
  return made;
}

}  // namespace gpuemu::libcuda
