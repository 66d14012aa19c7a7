// The state of an op, as stored in records.
#pragma once

#include <string>
#include <string_view>

#include <fmt/core.h>

#include "common/protocol/evidence.gen.h"

namespace gpuemu {

/// Format of the reason in a record, which published clients can read.
inline constexpr std::string_view kPublishedBroken = "error: {}";

/// A report of many cases that has a state: OpTestReport, CalibratedDType.
template <class Report>
void set_op_state(Report& report, OpState state, const std::string& reason) {
  report.state = state;
  report.skipped_reason = state == OpState::Broken ? fmt::format(kPublishedBroken, reason) : reason;
}

/// Returns the reason passed to set_op_state(); "" if the op ran.
template <class Report>
std::string op_reason(const Report& report) {
  constexpr size_t kPrefix = kPublishedBroken.size() - std::string_view("{}").size();
  const bool prefixed = report.state == OpState::Broken && report.skipped_reason.size() >= kPrefix;
  return prefixed ? report.skipped_reason.substr(kPrefix) : report.skipped_reason;
}

}  // namespace gpuemu
