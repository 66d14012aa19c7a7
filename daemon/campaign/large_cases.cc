#include "daemon/campaign/large_cases.h"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/service_limits.h"
#include "daemon/case/case_report.h"
#include "judge/cases/case_tensors.h"

namespace gpuemu {
namespace {

/// The most large cases that are listed; the first ones are enough to understand the rest.
constexpr size_t kListedMax = 8;
/// The time of cases with less work than this does not grow with their sizes.
constexpr double kTellingWork = 1 << 14;
/// The number of cases with at least that work that determine the pace: the first ones of a daemon
/// wait for programs to start.
constexpr uint64_t kTellingCases = 2;

/// Returns the measure that the time of a case grows with, for kernels and references of the best
/// possible complexity.
double work_of(const CasePlan& plan) {
  return std::max(product_of_dims(plan), static_cast<double>(largest_tensor(plan)));
}

std::string sizes_of(const CasePlan& plan) {
  std::string text;
  for (const auto& [name, size] : plan.dims) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, size);
  }
  return text;
}

const ValidationFailure* failure_of(const CaseReport& outcome, FindingKind kind) {
  const auto& failures = outcome.result.failures;
  const auto found = std::ranges::find(failures, kind, &ValidationFailure::kind);
  return found == failures.end() ? nullptr : &*found;
}

}  // namespace

bool is_large(const CasePlan& plan) { return largest_tensor(plan) > kUsualElementsMax; }

void LargeCases::begin(const CasePlan& plan) {
  const std::lock_guard lock(mutex_);
  ++paces_[{plan.op, plan.dtype}].begun;
}

void LargeCases::end(const CasePlan& plan, std::optional<uint64_t> milliseconds) {
  {
    const std::lock_guard lock(mutex_);
    Pace& pace = paces_[{plan.op, plan.dtype}];
    ++pace.ended;
    if (milliseconds) {
      const double work = work_of(plan), ms = static_cast<double>(*milliseconds);
      pace.least_ms = std::min(pace.least_ms, ms);
      if (work >= kTellingWork) {
        ++pace.telling;
        if (ms * pace.work < pace.ms * work || pace.work == 0) {
          pace.work = work;
          pace.ms = ms;
        }
      }
    }
  }
  ended_.notify_all();
}

void LargeCases::wait_for_usual(const CasePlan& plan) {
  std::unique_lock lock(mutex_);
  const Pace& pace = paces_[{plan.op, plan.dtype}];
  const uint64_t begun = pace.begun;
  ended_.wait(lock, [&] { return pace.ended >= begun; });
}

std::optional<std::string> LargeCases::too_long(const CasePlan& plan) const {
  const std::lock_guard lock(mutex_);
  const auto pace = paces_.find({plan.op, plan.dtype});
  if (pace == paces_.end() || pace->second.telling < kTellingCases) return std::nullopt;
  const Pace& known = pace->second;
  const double ms = (known.ms - known.least_ms) * work_of(plan) / known.work;
  if (ms <= static_cast<double>(kLargeCaseMsMax)) return std::nullopt;
  return fmt::format("the case would take about {:.0f} s, judging by smaller ones", ms / 1000);
}

std::optional<std::string> LargeCases::no_verdict(const CasePlan& plan, const CaseReport& outcome,
                                                  uint64_t timeout_ms) const {
  if (const auto* failure = failure_of(outcome, FindingKind::ReferenceError)) {
    return "its reference could not compute it: " + failure->message;
  }
  if (failure_of(outcome, FindingKind::Timeout) == nullptr) return std::nullopt;
  // A kernel whose time grows with the square of its sizes may take that long and still be correct.
  const std::lock_guard lock(mutex_);
  const auto pace = paces_.find({plan.op, plan.dtype});
  if (pace != paces_.end() && pace->second.work > 0) {
    const double ratio = work_of(plan) / pace->second.work;
    if (pace->second.ms * ratio * ratio < static_cast<double>(timeout_ms)) return std::nullopt;
  }
  return fmt::format("it ran longer than runtime.case_timeout_ms ({})", timeout_ms);
}

void LargeCases::leave_out(const CasePlan& plan, const std::string& why) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string>& left = left_out_[{plan.op, plan.dtype}];
  if (left.size() < kListedMax) left.push_back(fmt::format("{}: {}", sizes_of(plan), why));
}

std::vector<std::string> LargeCases::left_out(const std::string& op, DType dtype) const {
  const std::lock_guard lock(mutex_);
  const auto left = left_out_.find({op, dtype});
  return left == left_out_.end() ? std::vector<std::string>() : left->second;
}

}  // namespace gpuemu
