#include "runtime/ptx/isa/special.h"

#include <algorithm>
#include <array>

namespace gpuemu::ptx {
namespace {

// Registers with .x, .y, .z and .w; without a suffix each is a vector.
constexpr auto kVectors = std::to_array<std::string_view>({
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%clusterid",
    "%ctaid",
    "%nclusterid",
    "%nctaid",
    "%ntid",
    "%tid",
});
constexpr auto kScalars = std::to_array<std::string_view>({
    "%aggr_smem_size",
    "%clock",
    "%clock64",
    "%clock_hi",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%current_graph_exec",
    "%dynamic_smem_size",
    "%globaltimer",
    "%globaltimer_hi",
    "%globaltimer_lo",
    "%gridid",
    "%is_explicit_cluster",
    "%laneid",
    "%lanemask_eq",
    "%lanemask_ge",
    "%lanemask_gt",
    "%lanemask_le",
    "%lanemask_lt",
    "%nsmid",
    "%nwarpid",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_end",
    "%smid",
    "%total_smem_size",
    "%warpid",
});
static_assert(std::ranges::is_sorted(kVectors) && std::ranges::is_sorted(kScalars));

bool is_numbered(std::string_view name, std::string_view prefix, size_t digits_max) {
  if (!name.starts_with(prefix)) return false;
  const std::string_view digits = name.substr(prefix.size());
  return !digits.empty() && digits.size() <= digits_max &&
         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool is_special_register(std::string_view name) {
  if (name.size() < 2 || name[0] != '%') return false;
  if (std::ranges::binary_search(kScalars, name)) return true;
  if (is_numbered(name, "%envreg", 2) || is_numbered(name, "%pm", 1)) return true;
  if (name.starts_with("%pm") && name.ends_with("_64")) {
    return is_numbered(name.substr(0, name.size() - 3), "%pm", 1);
  }
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::ranges::binary_search(kVectors, name);
  const std::string_view part = name.substr(dot + 1);
  return part.size() == 1 && part.find_first_of("xyzw") == 0 &&
         std::ranges::binary_search(kVectors, name.substr(0, dot));
}

}  // namespace gpuemu::ptx
