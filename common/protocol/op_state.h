// What came of an op, as records say it.
#pragma once

#include <string>

#include "common/protocol/records.h"
#include "common/protocol/replies.h"

namespace gpuemu {

/// Where a record says why: in a form that published clients can read.
inline constexpr std::string_view kPublishedBroken = "error: {}";

/// A report of many cases that has a state: OpTestReport, CalibratedDType.
template <class Report>
void set_op_state(Report& report, OpState state, const std::string& reason) {
  report.state = state;
  report.skipped_reason = state == OpState::Broken ? fmt::format(kPublishedBroken, reason) : reason;
}

/// The reason that set_op_state() was given; "" when the op ran.
template <class Report>
std::string op_reason(const Report& report) {
  constexpr size_t kPrefix = kPublishedBroken.size() - std::string_view("{}").size();
  const bool prefixed = report.state == OpState::Broken && report.skipped_reason.size() >= kPrefix;
  return prefixed ? report.skipped_reason.substr(kPrefix) : report.skipped_reason;
}

}  // namespace gpuemu
