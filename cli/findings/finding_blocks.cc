#include "cli/findings/finding_blocks.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "cli/findings/finding_groups.h"
#include "cli/findings/one_line.h"
#include "cli/findings/source_excerpt.h"
#include "common/base/text.h"
#include "common/protocol/findings.h"

namespace gpuemu::cli {
namespace {

/// The most faults shown for one op; further ones are only counted.
constexpr size_t kBlocksMax = 8;
/// The largest line number recognized in a message.
constexpr uint64_t kLinesMax = 100'000'000;
/// Strategies that draw ordinary numbers, and no strategy: not worth mentioning for a failure.
constexpr std::string_view kOrdinaryValues[] = {"", "bits_uniform", "uniform10", "stored"};

/// The second location that a message about a pair contains: "(st.shared.f32 [%r1]; at FILE:13)" or
/// "another warp's st.shared.f32 [%r1]; at FILE:13".
struct OtherPlace {
  SourceMark mark;
  size_t begin = 0, end = 0;  ///< Position of the name in the title.
};

std::optional<OtherPlace> other_place(const std::string& title) {
  constexpr std::string_view kAt = " at /";
  const size_t at = title.find(kAt);
  if (at == title.npos) return std::nullopt;
  for (size_t colon = title.find(':', at); colon != title.npos;
       colon = title.find(':', colon + 1)) {
    size_t end = colon + 1;
    uint64_t line = 0;
    while (end < title.size() && title[end] >= '0' && title[end] <= '9' && line < kLinesMax) {
      line = 10 * line + static_cast<uint64_t>(title[end++] - '0');
    }
    if (line == 0 || (end < title.size() &&
                      std::string_view(" ),;").find(title[end]) == std::string_view::npos)) {
      continue;
    }
    const size_t file = at + kAt.size() - 1;
    OtherPlace place{
        {title.substr(file, colon - file), static_cast<uint32_t>(line), 0, ""}, at, end};
    const size_t open = title.rfind(" (", at);
    const bool enclosed = open != title.npos && end < title.size() && title[end] == ')' &&
                          title.substr(open, at - open).find(')') == title.npos;
    if (enclosed) {
      place.begin = open;
      place.end = end + 1;
    }
    return place;
  }
  return std::nullopt;
}

std::vector<SourceMark> marks_of(const ValidationFailure& finding, const std::string& label,
                                 const std::optional<OtherPlace>& other) {
  if (finding.source_line == 0) return {};
  std::vector<SourceMark> marks = {{finding.source_file, finding.source_line, 0, label}};
  if (!other) return marks;
  const bool same =
      other->mark.file == finding.source_file && other->mark.line == finding.source_line;
  if (same) {
    marks.front().label += "; the other access is on this line too";
  } else {
    marks.push_back(other->mark);
    marks.back().label = "the other access";
  }
  return marks;
}

/// Returns the usual fix of a wrong value, by its diagnosis; "" if that is not known.
std::string_view help_for(ExplainVerdict verdict) {
  switch (verdict) {
    case ExplainVerdict::Logic:
      return "compare constants, operators, indices and masks with the reference";
    case ExplainVerdict::Numerical:
      return "reorder the formula, or use a wider type where the value is lost";
    case ExplainVerdict::Rounding:
      return "`gpuemu calibrate` proposes a tolerance";
    default:
      return "";
  }
}

std::string counts_of(const FindingGroup& group, const OpFailures& op) {
  if (op.cases == 0) return "";
  const bool all_listed = op.failures.size() >= op.failed;
  const std::string dtype = group.smallest->repro_info
                                ? std::string(name_of(group.smallest->repro_info->dtype)) + " "
                                : "";
  return fmt::format("; {}{} of {} {} here", all_listed ? "" : "at least ", group.cases,
                     counted(op.cases, dtype + "case"), op.cases == 1 ? "fails" : "fail");
}

/// Returns the beginning of a reason, as much as fits in one line.
std::string shortened(const std::string& reason, size_t room) {
  if (room == 0 || columns_of(reason) <= room) return reason;
  const size_t end = reason.rfind("; ", room);
  constexpr std::string_view kMore = "; ... (-v)";
  if (end != reason.npos && end > 0 && end + kMore.size() <= room) {
    return reason.substr(0, end) + std::string(kMore);
  }
  const size_t blank = reason.rfind(' ', room - std::min(room, kMore.size()));
  return reason.substr(0, blank == reason.npos ? room : blank) + " ... (-v)";
}

std::string indented(const std::string& text, size_t columns) {
  const size_t blank = text.find(' ');
  if (columns == 0 || blank == text.npos) return text + "\n";
  std::string all = wrapped("    ", text, columns);
  return all.substr(4);
}

std::string block_of(const FindingGroup& group, const OpFailures& op, const BlockStyle& style) {
  const ValidationFailure& finding = *group.finding;
  const MessageParts parts = parts_of(finding);
  const std::optional<OtherPlace> other = other_place(parts.title);
  const std::string kind = name_of(finding.kind);
  // A title that does not fit after the kind starts on the next line, slightly indented.
  std::string all =
      indented(fmt::format("error[{}]: {}", kind, short_title(finding)), style.columns);
  size_t gutter = 1;
  const ExcerptStyle excerpt{style.folder, style.columns};
  all += source_excerpt(marks_of(finding, parts.thread, other), excerpt, gutter);
  const std::string lead = std::string(gutter + 2, ' ') + "= ";
  const auto note = [&](std::string_view name, const std::string& text) {
    all += wrapped(fmt::format("{}{}: ", lead, name), text, style.columns);
  };
  if (finding.source_line == 0 && !parts.thread.empty()) note("note", parts.thread);
  if (group.diagnosis != nullptr) {
    const std::string why = one_line(group.diagnosis->note);
    const size_t room = style.columns > lead.size() + 5 ? style.columns - lead.size() - 5 : 0;
    note("why", style.details ? why : shortened(why, room));
  }
  const std::string drawn = case_text(*group.smallest);
  note("case", fmt::format("{}{}seed {}{}", drawn, drawn.empty() ? "" : ", ", group.smallest->seed,
                           counts_of(group, op)));
  note("help", help_of(finding, group.diagnosis));
  if (op.is_stored) note("next", next_command(group, op.cases == 0));
  return all;
}

std::string consequences_text(const std::vector<const FindingGroup*>& groups, size_t columns) {
  std::string kinds;
  for (const FindingGroup* group : groups) {
    kinds += fmt::format("{}{} ({})", kinds.empty() ? "" : ", ", name_of(group->finding->kind),
                         counted(group->cases, "case"));
  }
  return wrapped(
      "note: ", "the same cases also have " + kinds + ", which the above can cause; fix it first",
      columns);
}

}  // namespace

std::string short_title(const ValidationFailure& finding) {
  std::string title = parts_of(finding).title;
  const std::optional<OtherPlace> other = other_place(title);
  if (other && finding.source_line > 0) title.erase(other->begin, other->end - other->begin);
  return title;
}

// A device's message describes the event, then "; thread (1,0,0) of block (0,0,0), FILE:LINE:
// INSTRUCTION". Other messages consist only of a title.
MessageParts parts_of(const ValidationFailure& finding) {
  const std::string message = one_line(finding.message);
  const size_t at = message.find("; thread (");
  if (at == message.npos) return {message, ""};
  const std::string rest = message.substr(at + 2);
  const size_t block = rest.find(") of block (");
  const size_t end = block == rest.npos ? rest.npos : rest.find("),", block);
  if (end == rest.npos) return {message, ""};
  return {message.substr(0, at), rest.substr(0, end + 1)};
}

std::string help_of(const ValidationFailure& finding, const Diagnosis* diagnosis) {
  if (finding.kind == FindingKind::ToleranceExceeded && diagnosis != nullptr) {
    const std::string_view fitting = help_for(diagnosis->verdict);
    if (!fitting.empty()) return std::string(fitting);
  }
  const bool loses_infinity = finding.kind == FindingKind::InfDetected &&
                              finding.message.find("inf_lost") != std::string::npos;
  if (loses_infinity) {
    return "look for limits and initial values such as -FLT_MAX that replace an infinity; "
           "nan_policy = \"any\" accepts any value where the reference is not finite";
  }
  std::string help(finding_info(finding.kind).help);
  const bool of_kernel = finding.kind == FindingKind::UninitializedRead &&
                         !finding.message.starts_with("reads byte offset");
  if (of_kernel) help.resize(std::min(help.find(';'), help.size()));
  return help;
}

std::string next_command(const FindingGroup& group, bool single_case) {
  const bool of_values = finding_info(group.finding->kind).effect == FindingEffect::None &&
                         group.finding->kind != FindingKind::ReferenceError;
  const char* verb = of_values ? "explain" : single_case ? "debug" : "minimize";
  return fmt::format("gpuemu {} {}", verb, group.smallest->seed);
}

std::string finding_blocks(const OpFailures& op, const BlockStyle& style) {
  const std::vector<FindingGroup> groups = group_findings(op.failures);
  std::vector<const FindingGroup*> consequences;
  std::string all;
  size_t shown = 0;
  for (const FindingGroup& group : groups) {
    if (group.is_consequence) {
      consequences.push_back(&group);
      continue;
    }
    if (++shown <= kBlocksMax) all += (all.empty() ? "" : "\n") + block_of(group, op, style);
  }
  if (shown > kBlocksMax) {
    all += fmt::format("\nnote: {}; `gpuemu failures` lists the cases\n",
                       counted(shown - kBlocksMax, "more finding"));
  }
  if (!consequences.empty()) all += "\n" + consequences_text(consequences, style.columns);
  return all;
}

std::string case_text(const ValidationResult& result) {
  if (!result.repro_info) return "";
  const ReproductionInfo& info = *result.repro_info;
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  for (const auto& [name, value] : info.dims) add(fmt::format("{}={}", name, value));
  for (const auto& [name, value] : info.attrs) add(fmt::format("{}={}", name, value));
  const std::string values = values_text(info);
  if (!values.empty()) add(values);
  return text;
}

std::string values_text(const ReproductionInfo& info) {
  if (std::ranges::find(kOrdinaryValues, info.value_strategy) != std::end(kOrdinaryValues)) {
    return "";
  }
  return "values=" + one_line(info.value_strategy);
}

}  // namespace gpuemu::cli
