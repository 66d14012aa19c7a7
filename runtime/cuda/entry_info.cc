// Computes parameter offsets by natural alignment, as the driver does.
#include "runtime/cuda/entry_info.h"

#include <algorithm>

#include "runtime/ptx/flow/grid_barrier.h"

namespace gpuemu::cuda {

std::vector<EntryInfo> entries_of(const ptx::Module& module) {
  std::vector<EntryInfo> out;
  for (const ptx::Function& function : module.functions) {
    if (!function.is_entry || function.is_extern) continue;
    EntryInfo entry;
    entry.name = function.name;
    uint32_t offset = 0;
    for (const ptx::Variable& variable : function.params) {
      const uint32_t align = std::max(variable.align, 1U);
      offset = (offset + align - 1) / align * align;
      const auto bytes = static_cast<uint32_t>(variable.bytes);
      entry.params.push_back({variable.name, bytes, offset, bytes == 8 && variable.dims.empty()});
      offset += bytes;
    }
    std::ranges::copy(function.reqntid, entry.required_block.begin());
    std::ranges::copy(function.maxntid, entry.max_block.begin());
    std::ranges::copy(function.reqnctapercluster, entry.cluster.begin());
    entry.needs_cluster = function.explicit_cluster;
    entry.cooperative = ptx::waits_for_grid(module, function);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace gpuemu::cuda
