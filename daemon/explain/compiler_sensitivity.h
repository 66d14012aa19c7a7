// Cases that pass as the kernel is compiled here and fail as another compiler could compile it, or
// as another device could order its threads: numerical fragility.
#pragma once

#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "common/base/result.h"

namespace gpuemu {

class Campaign;
struct CampaignOptions;
struct Config;
struct SlotVariant;
struct TestReportReply;

struct SensitivityTask {
  const Config& config;
  const CampaignOptions& options;                     ///< The run whose cases are run again.
  std::set<std::pair<std::string, uint64_t>> passed;  ///< Its passing cases by op and seed.
  std::string own_backend;
  /// The project's campaign on other slots.
  std::function<Result<Campaign*>(const SlotVariant&)> campaign_on;
};

/// Runs the cases again on the emulator with products and sums fused never, always and at drawn
/// instructions, and with threads in other orders; adds to `report` what fails only then.
Status find_compiler_sensitive(const SensitivityTask& task, const std::atomic<bool>& cancel,
                               TestReportReply& report);

}  // namespace gpuemu
