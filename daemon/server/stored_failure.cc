// Matches the exact seed first, then the same double.
#include "daemon/server/stored_failure.h"

#include <set>

#include <fmt/core.h>

#include "common/config/op_config.h"
#include "common/tensor/snapshot.h"
#include "daemon/storage/store.h"

namespace gpuemu {
namespace {

constexpr uint64_t kExactInDouble = uint64_t{1} << 53;
constexpr size_t kFailuresSearched = 10'000;

}  // namespace

bool has_kernel_case(const OpConfig& op, const ValidationResult& failure) {
  return op.mode == ExecutionMode::Kernel && failure.repro_info && failure.repro_info->base_seed;
}

ErrorReply no_kernel_case(const ValidationResult& failure, std::string_view what) {
  return {
      WireErrorCode::InvalidRequest,
      fmt::format("the failure {} of '{}' cannot be {}: a client submitted it, or its op has no "
                  "kernel that the daemon can run",
                  failure.seed, failure.op_name, what)};
}

Result<NamedTensors> stored_inputs(const ValidationResult& failure) {
  if (!failure.repro_info || !failure.repro_info->input_snapshot) return NamedTensors{};
  return decode_legacy_snapshot(*failure.repro_info->input_snapshot);
}

Result<ValidationResult> find_failure(Call& call, uint64_t seed, const std::string& op) {
  Store& store = call.context.store;
  auto exact = store.failure(seed, op);
  if (exact || exact.error().code != ErrorCode::NotFound || seed < kExactInDouble) return exact;
  const auto listed = GPUEMU_TRY(store.list_failures(kFailuresSearched, op));
  std::set<uint64_t> seeds;
  const ValidationResult* found = nullptr;
  for (const ValidationResult& failure : listed) {
    if (static_cast<double>(failure.seed) != static_cast<double>(seed)) continue;
    if (seeds.insert(failure.seed).second && found == nullptr) found = &failure;
  }
  if (found == nullptr) return exact;
  if (seeds.size() == 1) return store.failure(found->seed, found->op_name);  // With its inputs.
  std::string all;
  for (const uint64_t one : seeds) all += (all.empty() ? "" : ", ") + std::to_string(one);
  return error(ErrorCode::InvalidArgument,
               "no failure has seed {}, and several round to it: {}; give one of them", seed, all);
}

}  // namespace gpuemu
