// Finds cases that pass as the kernel is compiled here, but fail as another compiler could compile
// it or another device could order its threads: numerical fragility.
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
  const CampaignOptions& options;                     ///< The run whose cases are repeated.
  std::set<std::pair<std::string, uint64_t>> passed;  ///< Its passing cases by op and seed.
  std::string own_backend;
  /// Returns the project's campaign on slots of another kind.
  std::function<Result<Campaign*>(const SlotVariant&)> campaign_on;
};

/// Repeats the cases on the emulator with products and sums fused never, always and at randomly
/// chosen instructions, and with threads in other orders; adds to `report` what fails only then.
Status find_compiler_sensitive(const SensitivityTask& task, const std::atomic<bool>& cancel,
                               TestReportReply& report);

}  // namespace gpuemu
