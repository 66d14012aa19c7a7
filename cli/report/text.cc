// Text renderers without side effects: they convert replies to lines.
#include "cli/report/text.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "common/base/blake2.h"
#include "common/base/text.h"
#include "common/numeric/element.h"
#include "common/protocol/ci.h"
#include "common/protocol/layout_name.h"
#include "common/protocol/op_state.h"
#include "common/protocol/records.gen.h"

namespace gpuemu::cli {
namespace {

constexpr int64_t kElementsShown = 6;
constexpr std::string_view kReason = "why";
/// A larger limit, which results from few cases, says nothing about the kernel.
constexpr double kTellingLimitMax = 0.5;
std::string dims_text(const ReproductionInfo& info) {
  std::string text;
  for (const auto& [name, value] : info.dims) text += fmt::format(" {}={}", name, value);
  for (const auto& [name, value] : info.attrs) text += fmt::format(" {}={}", name, value);
  return text;
}

bool is_broken(const OpTestReport& op) { return op.state == OpState::Broken; }

std::string broken_line(const OpTestReport& op) {
  return fmt::format("[ERROR] {} {}: {}\n", op.op_name, name_of(op.dtype), one_line(op_reason(op)));
}

/// Prints what the verdict is based on besides a reference.
void print_basis(const OpTestReport& op, std::ostream& out) {
  for (const std::string& note : op.notes) out << "       " << one_line(note) << '\n';
  if (op.relations.empty()) return;
  std::string relations;
  for (const auto& [name, cases] : op.relations) {
    relations += fmt::format("{}{} {}", relations.empty() ? "" : ", ", name, cases);
  }
  out << "       relations, by cases: " << relations << '\n';
}

/// Prints settings in which passing cases fail, each with its first case.
void print_fragile(const OpTestReport& op, std::ostream& out) {
  if (op.fragile_checked > 0 && op.fragile.empty()) {
    out << fmt::format("    fragile: none of {}\n", counted(op.fragile_checked, "passing case"));
  }
  std::string last;
  for (const FragileCase& one : op.fragile) {
    if (one.setting == last) continue;
    last = one.setting;
    const auto cases = std::ranges::count(op.fragile, last, &FragileCase::setting);
    out << fmt::format("    fragile: with {} {} of {} {}, the first is {}: {}", last, cases,
                       counted(op.fragile_checked, "passing case"),
                       cases == 1 ? "is wrong" : "are wrong", one.seed, one_line(one.message));
    if (one.divergence) {
      const ExplainedStep& step = *one.divergence;
      out << one_line(fmt::format("; it begins with {} at {}", step.instruction,
                                  step.line != 0 ? fmt::format("{}:{}", step.file, step.line)
                                                 : fmt::format("PTX line {}", step.ptx_line)));
    }
    out << '\n';
  }
}

/// Returns "[FAIL] NAME (seed: S): 59 of 64 float32 cases", without the end of the line.
std::string fail_line(const OpTestReport& op) {
  return fmt::format("[FAIL] {} (seed: {}): {} of {}", op.op_name, op.failures.front().seed,
                     op.failed, counted(op.cases, fmt::format("{} case", name_of(op.dtype))));
}

/// Returns the finding of the first failing case, for the end of that line.
std::string first_finding(const OpTestReport& op) {
  const ValidationResult& first = op.failures.front();
  std::string where;
  if (first.repro_info) {
    const std::string values = values_text(*first.repro_info);
    where = dims_text(*first.repro_info) + (values.empty() ? "" : " " + values);
  }
  return fmt::format("; {}{}",
                     first.failures.empty() ? "no finding" : describe(first.failures.front()),
                     where.empty() ? "" : "; case:" + where);
}

void print_failed(const OpTestReport& op, const ReportStyle& style, std::ostream& out,
                  std::ostream& err) {
  const std::string line = fail_line(op);
  err << line << first_finding(op) << '\n';
  if (!style.blocks) {
    out << line << first_finding(op) << '\n';
    for (const ValidationResult& failure : op.failures) print_reasons(failure, out);
    out << guess_warning(op.guess, style);
    return;
  }
  OpFailures all{.failures = {}, .failed = op.failed, .cases = op.cases};
  for (const ValidationResult& failure : op.failures) all.failures.push_back(&failure);
  out << line << "\n\n"
      << guess_warning(op.guess, style) << finding_blocks(all, style.block) << '\n';
}

void print_op(const OpTestReport& op, const ReportStyle& style, std::ostream& out,
              std::ostream& err) {
  if (is_broken(op)) {
    out << broken_line(op);
    err << broken_line(op);
    return;
  }
  if (op.state != OpState::Ran) {
    out << fmt::format("[SKIP] {} {}: {}\n", op.op_name, name_of(op.dtype),
                       one_line(op_reason(op)));
    return;
  }
  if (op.failed == 0) {
    const std::string closeness = op.unjudged       ? "no reference yet: values are not judged"
                                  : op.no_reference ? "no reference"
                                                    : error_use_text(op.bound_ratio_max);
    out << fmt::format("[PASS] {} {} {}, {}, {:.0f} cases/s\n", op.op_name, name_of(op.dtype),
                       counted(op.cases, "case"), closeness, op.cases_per_second);
    out << warnings_text(op.warned, op.cases, op.warnings);
    if (!style.compact) print_basis(op, out);
    if (op.evidence && !style.compact) out << evidence_line(*op.evidence);
    print_fragile(op, out);
    return;
  }
  print_failed(op, style, out, err);
  out << warnings_text(op.warned, op.cases, op.warnings);
  if (style.blocks && !op.warnings.empty()) out << '\n';
  if (!style.compact) print_basis(op, out);
  if (op.evidence && !style.compact) out << evidence_line(*op.evidence);
  print_fragile(op, out);
}

}  // namespace

std::string guess_warning(const std::string& guess, const ReportStyle& style) {
  if (guess.empty()) return "";
  const std::string text = wrapped("warning: ", one_line(guess), style.block.columns);
  return style.blocks ? text + '\n' : text;
}

std::string evidence_summary(const std::vector<const Evidence*>& proofs) {
  uint64_t telling = 0, judged = 0;
  size_t without = 0;
  for (const Evidence* evidence : proofs) {
    telling += evidence->telling;
    judged += evidence->judged;
    if (evidence->telling == 0) ++without;
  }
  if (proofs.empty()) return "";
  std::string text = fmt::format("evidence: {} of {} would have caught a trivial kernel", telling,
                                 counted(judged, "passing case"));
  if (without > 0) {
    text += fmt::format("; {} {} without any", without, without == 1 ? "op is" : "ops are");
  }
  return text;
}

std::string search_line(const SearchReport& search) {
  return fmt::format(
      "    coverage: {} of {} blocks, {} of {} edges; {} reached something new, corpus "
      "{}{}\n",
      search.blocks, search.blocks_total, search.edges, search.edges_total,
      counted(search.grown, "case"), search.corpus,
      search.replayed > 0 ? fmt::format(" ({} run again first)", search.replayed) : "");
}

namespace {

/// Describes up to which sizes the limit holds, if these are smaller than declared.
std::string sizes_text(const Evidence& evidence) {
  std::vector<std::string> parts;
  for (const auto& [name, size] : evidence.up_to) {
    parts.push_back(fmt::format("{} up to {}", name, size));
  }
  if (!parts.empty()) return fmt::format(" with {}", fmt::join(parts, ", "));
  for (const auto& [name, size] : evidence.largest) {
    parts.push_back(fmt::format("{} = {}", name, size));
  }
  return parts.empty() ? "" : fmt::format(" up to {}", fmt::join(parts, ", "));
}

}  // namespace

std::string evidence_text(const Evidence& evidence) {
  std::string text = fmt::format(
      "{} of {} would have caught a kernel that writes zeros, copies its input or "
      "writes row means",
      evidence.telling, counted(evidence.judged, "passing case"));
  std::string through;
  for (const auto& [name, cases] : evidence.trivial) {
    through += fmt::format("{}{} {}", through.empty() ? " (accepted: " : ", ", name, cases);
  }
  if (!through.empty()) text += through + ")";
  if (evidence.exact > 0) text += fmt::format("; {} allow no error", evidence.exact);
  if (evidence.telling == 0) {
    text = fmt::format("none: {} would accept a trivial output too{}; see docs/guides/evidence.md",
                       evidence.judged == 1
                           ? "the only passing case"
                           : fmt::format("each of the {} passing cases", evidence.judged),
                       through.empty() ? "" : through + ")");
  } else if (evidence.failure_limit && *evidence.failure_limit <= kTellingLimitMax) {
    text += fmt::format("; 95 % confidence that under {:.3g} % of cases like these{} fail",
                        100 * *evidence.failure_limit, sizes_text(evidence));
  }
  return text;
}

std::string evidence_line(const Evidence& evidence) {
  return "    evidence: " + evidence_text(evidence) + "\n";
}

std::string describe(const ValidationFailure& failure) {
  std::string text = fmt::format("[{}] {}", name_of(failure.kind), one_line(failure.message));
  if (failure.source_line > 0) {
    const size_t slash = failure.source_file.rfind('/');
    const std::string file =
        slash == std::string::npos ? failure.source_file : failure.source_file.substr(slash + 1);
    const std::string place = fmt::format("{}:{}", file, failure.source_line);
    if (text.find(place) == std::string::npos) text += " at " + place;
  }
  return text;
}

std::string why(const ValidationFailure& failure) {
  return failure.diagnosis ? one_line(failure.diagnosis->note) : "";
}

std::string reason_of(const ValidationFailure& failure) {
  return failure.diagnosis ? fmt::format("; {}: {}", kReason, why(failure)) : "";
}

void print_reasons(const ValidationResult& result, std::ostream& out) {
  for (const ValidationFailure& failure : result.failures) {
    if (!failure.diagnosis) continue;
    out << fmt::format("    {} {} ({}): {}\n", kReason, result.seed, name_of(failure.kind),
                       why(failure));
  }
}

bool has_broken_op(const TestReportReply& report) {
  return std::ranges::any_of(report.ops, is_broken);
}

void print_broken_ops(const TestReportReply& report, std::ostream& err) {
  for (const OpTestReport& op : report.ops) {
    if (is_broken(op)) err << broken_line(op);
  }
}

namespace {

/// Summarizes for all ops in one line what -v prints for each.
std::string summed_up(const TestReportReply& report) {
  std::vector<const Evidence*> proofs;
  size_t notes = 0;
  for (const OpTestReport& op : report.ops) {
    if (op.evidence) proofs.push_back(&*op.evidence);
    notes += op.notes.size();
  }
  std::string text = evidence_summary(proofs);
  if (notes > 0) {
    text += (text.empty() ? "" : "; ") + counted(notes, "note");
  }
  return text.empty() ? "" : text + " (-v: op by op)\n";
}

}  // namespace

void print_test_report(const TestReportReply& report, const ReportStyle& style, std::ostream& out,
                       std::ostream& err) {
  uint64_t good = 0, bad = 0, skipped = 0, broken = 0, unjudged = 0;
  for (const OpTestReport& op : report.ops) {
    print_op(op, style, out, err);
    uint64_t& kind = is_broken(op)              ? broken
                     : op.state != OpState::Ran ? skipped
                     : op.failed == 0           ? good
                                                : bad;
    ++kind;
    unjudged += &kind == &good && op.no_reference ? 1 : 0;
  }
  if (style.compact) out << summed_up(report);
  const double seconds = static_cast<double>(report.duration_ms) / 1000;
  out << fmt::format("{}; {} in {:.2f} s", counts_text(good, bad, skipped, broken, unjudged),
                     counted(report.total, "case"), seconds);
  if (report.total > 0 && seconds > 0) {
    out << fmt::format(" ({:.0f} cases/s)", static_cast<double>(report.total) / seconds);
  }
  out << fmt::format("\nseed {} on {}, backend {}\n", report.seed, report.device, report.backend);
}

std::string counts_text(uint64_t passed, uint64_t failed, uint64_t skipped, uint64_t not_run,
                        uint64_t without_reference) {
  std::string text = fmt::format("{} passed", passed);
  if (without_reference > 0) text += fmt::format(" ({} without a reference)", without_reference);
  if (failed > 0) text += fmt::format(", {} failing", failed);
  if (skipped > 0) text += fmt::format(", {} skipped", skipped);
  if (not_run > 0) text += fmt::format(", {} not run", not_run);
  return text;
}

std::string error_use_text(double use) {
  return fmt::format("largest error is {:.3g} % of the allowed error", 100 * use);
}

std::string warnings_text(uint64_t warned, uint64_t cases,
                          const std::vector<ValidationResult>& warnings) {
  if (warnings.empty()) return "";
  const ValidationResult& first = warnings.front();
  std::string text =
      fmt::format("    warning: {} of {}, the first is {}: {}", warned, counted(cases, "case"),
                  first.seed, one_line(first.warnings.front().message));
  for (const ValidationFailure& warning : first.warnings) {
    if (warning.diagnosis) text += "; " + one_line(warning.diagnosis->note);
  }
  return text + "\n";
}

std::string failure_line(const ValidationResult& result) {
  std::string text = fmt::format("{} {} ", result.seed, result.op_name);
  text += result.failures.empty() ? "[Unknown]" : describe(result.failures.front());
  if (result.repro_info) {
    std::string sizes;
    for (const int64_t size : result.repro_info->shape) {
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    }
    text += fmt::format(" dtype: {} shape: [{}]", name_of(result.repro_info->dtype), sizes);
  }
  return text + fmt::format(" max_diff: {:.3e} seed: {}", result.max_diff, result.seed);
}

void print_case(const ValidationResult& result, std::ostream& out, const ReportStyle& style) {
  out << fmt::format("case {} of {}: {}\n", result.seed, result.op_name,
                     result.passed ? "passes" : "fails");
  if (result.repro_info) {
    const ReproductionInfo& info = *result.repro_info;
    const std::string layout =
        info.layout_name.empty() ? lower_name_of(info.layout) : info.layout_name;
    out << fmt::format("  dtype {}, layout {}, shape {}", name_of(info.dtype), one_line(layout),
                       to_string(info.shape));
    if (!info.value_strategy.empty()) out << ", values " << info.value_strategy;
    if (!info.kernel.empty()) out << ", kernel " << info.kernel;
    out << '\n';
    if (!info.dims.empty() || !info.attrs.empty()) out << " " << dims_text(info) << '\n';
    if (info.base_seed && info.iteration) {
      out << fmt::format("  base seed {}, iteration {}\n", *info.base_seed, *info.iteration);
    }
  }
  if (style.blocks && !result.failures.empty()) {
    out << '\n' << finding_blocks({.failures = {&result}, .failed = 1}, style.block) << '\n';
  } else {
    for (const ValidationFailure& failure : result.failures) {
      out << "  " << describe(failure) << '\n';
    }
    print_reasons(result, out);
  }
  // If no float output is wrong, its errors say nothing about findings of other kinds.
  const bool says_nothing =
      !result.failures.empty() && result.error_stats && result.error_stats->num_exceeding == 0;
  if (!result.error_stats || says_nothing) return;
  const ErrorStats& stats = *result.error_stats;
  const char* exceed = stats.count == 1 ? "exceeds" : "exceed";
  if (!std::isfinite(stats.max_abs)) {
    out << fmt::format("  errors: {} of {} {}, the largest is not finite\n", stats.num_exceeding,
                       counted(stats.count, "element"), exceed);
    return;
  }
  out << fmt::format(
      "  errors: {} of {} {}; absolute max {:.3e} mean {:.3e} p99 {:.3e}; relative "
      "max "
      "{:.3e}; ulp max {}, signed mean {:+.2f}\n",
      stats.num_exceeding, counted(stats.count, "element"), exceed, stats.max_abs, stats.mean_abs,
      stats.p99_abs, stats.max_rel, stats.max_ulp, stats.mean_signed_ulp);
}

void print_inputs(const NamedTensors& inputs, std::ostream& out) {
  for (const auto& [name, tensor] : inputs) {
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.data.data()),
                                 tensor.data.size());
    out << fmt::format("  input {} {} {} blake2b {}\n    ", name, name_of(tensor.dtype),
                       to_string(tensor.shape), content_hash({bytes}));
    const int64_t count = tensor.count();
    for (int64_t index = 0; index < std::min(count, kElementsShown); ++index) {
      const size_t at = static_cast<size_t>(index) * byte_size(tensor.dtype);
      out << fmt::format("{} ", read_as_double(tensor.dtype, tensor.data.data() + at));
    }
    out << (count > kElementsShown ? "...\n" : "\n");
  }
}

namespace {
/// Returns "-" if `whole` is 0.
std::string ratio(uint64_t part, uint64_t whole, const char* unit = "", double scale = 1) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f}{}", scale * static_cast<double>(part) / static_cast<double>(whole),
                     unit);
}
}  // namespace

void print_printed(const std::vector<std::string>& lines, std::ostream& out) {
  if (!lines.empty()) out << "  printed by the kernel:\n";
  for (const std::string& line : lines) out << "    " << one_line(line) << '\n';
}

void print_profile(const std::vector<LineProfile>& profile, std::ostream& out) {
  constexpr uint64_t kWarpLanes = 32, kSectorBytes = 32;
  std::vector<LineProfile> lines = profile;
  std::ranges::stable_sort(lines, std::greater(), &LineProfile::warp_instructions);
  out << fmt::format("  {:>12} {:>6} {:>9} {:>12} {:>10} {:>12} {:>9}  {}\n", "instructions",
                     "lanes", "divergent", "sectors/req", "coalesced", "passes/req", "conflicts",
                     "line");
  for (const LineProfile& line : lines) {
    if (line.warp_instructions == 0) continue;
    out << fmt::format(
        "  {:>12} {:>6} {:>9} {:>12} {:>10} {:>12} {:>9}  {}:{}\n", line.thread_instructions,
        ratio(line.thread_instructions, line.warp_instructions * kWarpLanes, "%", 100),
        line.divergent_branches, ratio(line.global_sectors, line.global_requests),
        ratio(line.global_bytes, line.global_sectors * kSectorBytes, "%", 100),
        ratio(line.shared_wavefronts, line.shared_requests), line.bank_conflicts,
        line.file.empty() ? "PTX" : line.file, line.line);
  }
}

}  // namespace gpuemu::cli
