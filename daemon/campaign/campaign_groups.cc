#include "daemon/campaign/campaign_groups.h"

#include <algorithm>

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/protocol/op_state.h"
#include "judge/cases/large_sizes.h"

namespace gpuemu {
namespace {

/// If so many cases of an op ran into their time limit, and so large a share of those that ran, the
/// others will too; their results are not worth hours.
constexpr uint64_t kTimeoutsWaitedFor = 3, kTimeoutsShare = 4;

}  // namespace

void tell_not_run(OpTestReport& report, uint64_t planned, EarlyEnd end) {
  report.not_run = planned - report.cases;
  const std::string counts = fmt::format("{} of {}", report.cases, counted(planned, "case"));
  const std::string text =
      end == EarlyEnd::Cancelled ? fmt::format("interrupted after {}", counts)
      : end == EarlyEnd::Late
          ? fmt::format("time ran out after {}", counts)
          : fmt::format("{} ran: the run ended at its first failing case (fail-fast)", counts);
  if (report.failed > 0 || (end == EarlyEnd::Late && report.cases > 0)) {
    report.notes.push_back(text);
  } else {
    set_op_state(report, end == EarlyEnd::Cancelled ? OpState::Broken : OpState::Stopped, text);
  }
}

void Campaign::Group::admit(Finished finished, std::vector<Finished>& ready) {
  const std::string silence = silence_of(finished.outcome.result);
  unanswered.admit(std::move(finished), silence, ready);
  silent = unanswered.is_certain();
}

void Campaign::Group::record(Finished finished) {
  ValidationResult& result = finished.outcome.result;
  if (!first || finished.started < *first) first = finished.started;
  last = std::max(last, finished.ended);
  ++report.cases;
  ++(result.passed ? report.passed : report.failed);
  const std::string values(name_of(finished.plan.value_strategy));
  ++report.strategies[values];
  for (const std::string& relation : finished.outcome.relations) ++report.relations[relation];
  for (const CaseNote note : finished.outcome.notes) ++report.relations[std::string(name_of(note))];
  evidence.add(finished.outcome, values, finished.plan.dims);
  if (report.kernel.empty()) report.kernel = finished.outcome.kernel;
  report.max_diff = std::max(report.max_diff, result.max_diff);
  report.bound_ratio_max = std::max(report.bound_ratio_max, finished.outcome.bound_ratio_max);
  notes.merge(finished.outcome.remarks);
  variants.add(finished.outcome);
  if (!result.warnings.empty()) {
    ++report.warned;
    warned.emplace(finished.plan.iteration, result);
    if (warned.size() > kWarningsListedMax) warned.erase(std::prev(warned.end()));
  }
  if (result.passed) return;
  bad.emplace(finished.plan.iteration, std::move(result));
  if (bad.size() > kFailuresListedMax) bad.erase(std::prev(bad.end()));
}

void Campaign::Group::note_time(const ValidationResult& result) {
  const auto has = [&](FindingKind kind) {
    return std::ranges::find(result.failures, kind, &ValidationFailure::kind) !=
           result.failures.end();
  };
  ++ran;
  // If an uninitialized value decides how long the kernel runs, the launch was stopped early.
  if (has(FindingKind::Timeout) && !has(FindingKind::UninitializedRead)) ++timed_out;
}

bool Campaign::Group::skips_next() {
  if (broken || silent) return true;
  // Further cases would take their whole time limit and show nothing new.
  if (timed_out < kTimeoutsWaitedFor || timed_out * kTimeoutsShare < ran) return false;
  ++left_out;
  ++settled;
  return true;
}

void Campaign::Group::fail(const Error& why) {
  if (!broken.exchange(true)) why_broken = why.message;
}

OpTestReport Campaign::Group::finish(EarlyEnd end, bool is_piece) {
  if (const std::string silence = unanswered.text(); !silence.empty() && !broken) {
    fail({ErrorCode::InvalidArgument, silence});
    report.reference_failed = true;
  }
  for (auto& [iteration, result] : bad) report.failures.push_back(std::move(result));
  for (auto& [iteration, result] : warned) report.warnings.push_back(std::move(result));
  report.notes.insert(report.notes.end(), notes.begin(), notes.end());
  for (std::string& text : variants.sentences()) report.notes.push_back(std::move(text));
  report.evidence =
      is_piece ? evidence.piece(report.dtype) : evidence.evidence(report.dtype, op->dims);
  if (broken) set_op_state(report, OpState::Broken, why_broken);
  if (left_out > 0) {
    report.notes.push_back(fmt::format(
        "{} of {} ran into the time limit of a case (runtime.case_timeout_ms): {} left out",
        timed_out.load(), counted(ran.load(), "case"),
        left_out == 1 ? "the other was" : fmt::format("the {} others were", left_out.load())));
  }
  // Cases without a verdict, such as unsupported ones, are settled as well.
  if (!broken && planned > settled) {
    if (is_piece) {
      report.not_run = planned - settled;
    } else {
      tell_not_run(report, report.cases + (planned - settled), end);
    }
  }
  if (first) {
    report.duration_ms = milliseconds_between(*first, last);
    const double seconds = std::chrono::duration<double>(last - *first).count();
    if (seconds > 0) report.cases_per_second = static_cast<double>(report.cases) / seconds;
  }
  return report;
}

Campaign::Items::Items(const std::vector<std::shared_ptr<Group>>& groups,
                       const CampaignOptions& options)
    : first_(options.first_number),
      // Iterations are numbered with the dtypes in turn.
      in_turns_(options.cases_total || options.deadline) {
  for (const auto& group : groups) {
    if (group->cases > 0) groups_.push_back(group.get());
  }
  step_ = std::max<uint64_t>(1, options.shards);
  while (first_ < options.first_number + step_ &&
         !is_in_shard(first_, options.shard, options.shards)) {
    ++first_;
  }
  const uint64_t skipped = first_ - options.first_number;
  each_ = options.cases > skipped ? (options.cases - skipped + step_ - 1) / step_ : 0;
  count_ = each_ * groups_.size();
  if (options.cases_total) {
    begin_ = options.first_case;
    count_ = *options.cases_total;
  }
  const auto turns_before = [&](uint64_t index, uint64_t group) {
    return index / groups_.size() + (group < index % groups_.size() ? 1 : 0);
  };
  for (size_t i = 0; i < groups_.size(); ++i) {
    groups_[i]->planned =
        in_turns_ ? turns_before(begin_ + count_, i) - turns_before(begin_, i) : each_;
  }
  if (groups_.empty()) count_ = 0;
}

Campaign::Item Campaign::Items::at(uint64_t index) const {
  const uint64_t groups = groups_.size();
  index += begin_;
  const uint64_t group = in_turns_ ? index % groups : index / each_;
  const uint64_t turn = in_turns_ ? index / groups : place(*groups_[group], index % each_);
  return {groups_[group], first_ + turn * step_};
}

uint64_t Campaign::Items::place(const Group& group, uint64_t turn) const {
  std::vector<uint64_t> large;
  for (const uint64_t row : large_rows(group.case_options.large.targets.size())) {
    const bool is_mine = row >= first_ && (row - first_) % step_ == 0;
    if (is_mine && (row - first_) / step_ < each_) large.push_back((row - first_) / step_);
  }
  const uint64_t usual = each_ - large.size();
  if (turn >= usual) return large[turn - usual];
  for (const uint64_t one : large) {
    if (one <= turn) ++turn;
  }
  return turn;
}

}  // namespace gpuemu
