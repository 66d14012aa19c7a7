#include "bindings/libcuda/kernel_times.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bindings/libcuda/call_sites/symbols.h"
#include "bindings/libcuda/interface/abi.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

void KernelTimes::add(const std::string& entry, uint64_t elapsed_ns) {
  const std::lock_guard lock(mutex_);
  Sum& sum = by_entry_[entry];
  ++sum.launches;
  sum.elapsed_ns += elapsed_ns;
}

std::string KernelTimes::text() const {
  std::vector<std::pair<std::string, Sum>> all;
  {
    const std::lock_guard lock(mutex_);
    all.assign(by_entry_.begin(), by_entry_.end());
  }
  std::ranges::stable_sort(all, std::greater(),
                           [](const auto& one) { return one.second.elapsed_ns; });
  std::string made;
  for (const auto& [entry, sum] : all) {
    made += fmt::format("{}\t{}\t{}\n", demangled(entry), sum.launches, sum.elapsed_ns);
  }
  return made;
}

}  // namespace gpuemu::libcuda

GPUEMU_DRIVER_API size_t gpuemu_kernel_times(char* text, size_t bytes) {
  const gpuemu::libcuda::Process* const driver = gpuemu::libcuda::process();
  const std::string all = driver == nullptr ? std::string() : driver->times.text();
  if (text != nullptr && bytes != 0) {
    const size_t copied = std::min(all.size(), bytes - 1);
    std::copy_n(all.begin(), copied, text);
    text[copied] = '\0';
  }
  return all.size() + 1;
}
