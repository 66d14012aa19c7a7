#include "cli/report/html_findings.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/core.h>

#include "cli/findings/finding_blocks.h"
#include "cli/findings/source_excerpt.h"
#include "cli/report/ci_documents.h"
#include "cli/report/ci_findings.h"
#include "cli/report/escape.h"
#include "cli/report/html_charts.h"
#include "cli/report/html_maps.h"
#include "cli/report/html_plots.h"
#include "cli/report/text.h"
#include "common/base/text.h"
#include "common/protocol/findings.h"

namespace gpuemu::cli {
namespace {

// The JSON has all of them.
constexpr size_t kFindingsMax = 64;
constexpr size_t kInputsShown = 3;
constexpr size_t kWordsMax = 1200;
constexpr uint32_t kLinesAround = 5;
constexpr std::string_view kBeforePath = " \t\n\"'`(,;:=[";

std::string text(const std::string& words) { return markup(clipped(words, kWordsMax)); }

struct SourceSpot {
  std::string file;
  uint32_t line = 0;  ///< 0 if unknown.
};

/// Returns the line of the finding; for a wrong value, the first line whose result differs.
SourceSpot spot_of(const CiFinding& finding) {
  const ValidationFailure failure = diagnosed(finding);
  if (failure.source_line > 0 && !failure.source_file.empty()) {
    return {failure.source_file, failure.source_line};
  }
  if (!failure.diagnosis || !failure.diagnosis->divergence) return {};
  const ExplainedStep& step = *failure.diagnosis->divergence;
  return step.file.empty() ? SourceSpot() : SourceSpot{step.file, step.line};
}

/// Data that the sections of one page share.
struct Page {
  const CiRunSummary& summary;
  const CasePictures& pictures;
  ExcerptStyle style;
  std::vector<CiFinding> findings;
  std::map<std::pair<std::string, uint32_t>, uint64_t> hits;  ///< By file and line.

  /// Returns the text with files of the folder relative to it.
  std::string relative(std::string words) const {
    const std::string prefix = style.folder + "/";
    for (size_t at = words.find(prefix); prefix.size() > 1 && at != words.npos;
         at = words.find(prefix, at)) {
      // Inside of a longer path it is another folder.
      if (at > 0 && kBeforePath.find(words[at - 1]) == kBeforePath.npos) {
        at += prefix.size();
      } else {
        words.erase(at, prefix.size());
      }
    }
    return words;
  }
  /// A wrong value has no line of its own: the output stands where nothing explained it.
  std::string place(const CiFinding& finding) const {
    const SourceSpot spot = spot_of(finding);
    const std::string& output = finding.group.finding->output;
    if (spot.line == 0) return output.empty() ? "" : fmt::format("output {}", output);
    return place_text({spot.file, spot.line, 0, ""}, style);
  }
};

bool has_errors(const ErrorMap& map) {
  return std::ranges::any_of(map.cells, [](double cell) { return !(cell == 0); });
}

/// Shows inputs of the output's shape first, because they align with the error map.
std::string input_figures(const ReproduceResultReply& picture) {
  std::vector<std::pair<std::string, const Tensor*>> inputs;
  for (const auto& [name, tensor] : picture.inputs) inputs.emplace_back(name, &tensor);
  const Shape shape = picture.error_map ? picture.error_map->shape : Shape();
  std::ranges::stable_sort(inputs, {}, [&](const auto& one) { return one.second->shape != shape; });
  std::string figures;
  for (size_t i = 0; i < std::min(inputs.size(), kInputsShown); ++i) {
    figures += input_figure(inputs[i].first, *inputs[i].second);
  }
  if (inputs.size() > kInputsShown) {
    figures += fmt::format("<p class=\"mute\">and {}</p>\n",
                           counted(inputs.size() - kInputsShown, "more input"));
  }
  return figures;
}

std::string case_figures(const ReproduceResultReply* picture) {
  if (picture == nullptr) return "";
  std::string figures;
  if (picture->error_map && has_errors(*picture->error_map)) {
    const ErrorMap& map = *picture->error_map;
    figures += error_figure(map, tile_of(picture->launches, map.shape));
    figures += error_histogram(map);
  } else if (picture->error_map && !picture->error_map->cells.empty()) {
    figures += fmt::format(
        "<p class=\"mute\">In this case each element of {} equals its "
        "reference.</p>\n",
        text(picture->error_map->output));
  }
  const std::string drawn = case_text(picture->result);
  return fmt::format("<p class=\"mute\">Drawn: {}{}seed {}</p>\n", text(drawn),
                     drawn.empty() ? "" : ", ", picture->result.seed) +
         figures + input_figures(*picture);
}

/// Returns the charts of an op, which appear with the first of its findings.
std::string op_figures(const CiRunSummary& summary, const std::string& op) {
  std::vector<CaseSample> samples;
  for (const CiOp& one : summary.ops) {
    if (one.op_name == op) samples.insert(samples.end(), one.samples.begin(), one.samples.end());
  }
  return errors_by_size(samples) + errors_by_strategy(samples);
}

/// Remarks on the lines of one file, by line.
using LineNotes = std::map<uint32_t, std::vector<std::string>>;

LineNotes notes_of(const Page& page, const CiFinding& finding) {
  LineNotes notes;
  const std::string file = spot_of(finding).file;
  for (const CiFinding& other : page.findings) {
    const SourceSpot spot = spot_of(other);
    if (other.op_name != finding.op_name || spot.file != file) continue;
    notes[spot.line].push_back(fmt::format("{}: {}", name_of(other.group.finding->kind),
                                           counted(other.group.cases, "case")));
  }
  return notes;
}

std::string source_section(const Page& page, const CiFinding& finding) {
  const SourceSpot spot = spot_of(finding);
  const auto lines = source_lines(spot.file, spot.line, kLinesAround);
  if (lines.empty()) return "";
  const LineNotes notes = notes_of(page, finding);
  const bool counted = std::ranges::any_of(
      lines, [&](const SourceLine& line) { return page.hits.contains({spot.file, line.number}); });
  std::string html;
  for (const SourceLine& line : lines) {
    const auto hits = page.hits.find({spot.file, line.number});
    const std::string ran = hits == page.hits.end() ? "" : std::to_string(hits->second);
    const std::string row = fmt::format(
        "{:>5} {}{}", line.number, counted ? fmt::format("{:>10}  ", ran) : " ", markup(line.text));
    const auto said = notes.find(line.number);
    if (said == notes.end()) {
      html += row + "\n";
      continue;
    }
    std::string all;
    for (const std::string& note : said->second) all += (all.empty() ? "" : ", ") + note;
    html +=
        fmt::format("<mark>{}</mark>  <span class=\"bad\">&#9664; {}</span>\n", row, markup(all));
  }
  return fmt::format("<h4>{}{}</h4>\n<pre tabindex=\"0\">{}</pre>\n", text(page.place(finding)),
                     counted ? " <span class=\"mute\">line, how often threads ran it</span>" : "",
                     html);
}

std::string command(const std::string& words) {
  return fmt::format("<code class=\"copy\">{}</code>", text(words));
}

/// Formats a row of the list of facts; the value is markup already.
std::string fact(const char* name, const std::string& value) {
  return value.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, value);
}

std::string facts(const Page& page, const CiFinding& finding, const MessageParts& parts) {
  const FindingGroup& group = finding.group;
  const std::string drawn = case_text(*group.smallest);
  const bool client_case = !group.smallest->repro_info || !group.smallest->repro_info->base_seed;
  std::string values;
  if (group.finding->expected && group.finding->actual) {
    values = fmt::format("expected {:.9g}, got {:.9g}", *group.finding->expected,
                         *group.finding->actual);
  }
  std::string also;
  for (const std::string& one : finding.consequences) also += (also.empty() ? "" : ", ") + one;
  return "<dl>" +
         fact("fails in",
              fmt::format("{}<strong>{}</strong>", share_bar(group.cases, finding.cases, "no"),
                          cases_text(finding))) +
         fact("values", values) + fact("thread", text(parts.thread)) +
         fact("why", group.diagnosis == nullptr
                         ? ""
                         : text(page.relative(one_line(group.diagnosis->note)))) +
         fact("smallest case", text(fmt::format("{}{}seed {}", drawn, drawn.empty() ? "" : ", ",
                                                group.smallest->seed))) +
         fact("help", text(help_of(*group.finding, group.diagnosis))) +
         fact("also", also.empty() ? "" : text(also + ", which this can cause; fix it first")) +
         fact("next",
              command(next_command(group, false)) + " " + command(replay_command(*group.smallest)) +
                  (client_case
                       ? ""
                       : " " + command(fmt::format("gpuemu debug {}", group.smallest->seed)))) +
         "</dl>\n";
}

std::string title_of(const CiFinding& finding) {
  return fmt::format("<span class=\"bad\">{}</span> {}", name_of(finding.group.finding->kind),
                     text(finding.op_name));
}

/// Returns the map stored by the run itself, for reports made without pictures.
std::string worst_figures(const CiRunSummary& summary, const CasePictures& pictures) {
  const bool has_maps = std::ranges::any_of(
      pictures.cases, [](const auto& one) { return one.error_map && has_errors(*one.error_map); });
  if (has_maps || !summary.worst) return "";
  const ErrorMap& worst = *summary.worst;
  return fmt::format(
      "<section><h3>Where the errors are <span class=\"mute\">{}, seed {}</span></h3>"
      "\n<div class=\"figures\">{}{}</div></section>\n",
      text(worst.op_name), worst.seed, error_figure(worst, std::nullopt), error_histogram(worst));
}

std::string section(const Page& page, size_t index, bool first_of_op) {
  const CiFinding& finding = page.findings[index];
  const ValidationFailure& failure = *finding.group.finding;
  const MessageParts parts = parts_of(failure);
  const ReproduceResultReply* picture = page.pictures.find(finding.op_name, finding.drawn->seed);
  const std::string figures =
      case_figures(picture) + (first_of_op ? op_figures(page.summary, finding.op_name) : "");
  const std::string place = page.place(finding);
  return fmt::format(
      "<section id=\"finding-{}\"><h3>{} <span class=\"mute\">{}</span></h3>\n<p>{}</p>\n"
      "<div class=\"figures\">{}</div>\n{}{}</section>\n",
      index + 1, title_of(finding), text(place), text(page.relative(parts.title)), figures,
      source_section(page, finding), facts(page, finding, parts));
}

/// Lists one line per finding, with a link to its section.
std::string overview(const Page& page, size_t shown) {
  std::string rows;
  for (size_t i = 0; i < shown; ++i) {
    const CiFinding& finding = page.findings[i];
    rows += fmt::format(
        "<tr><td><a href=\"#finding-{}\">{}</a></td><td>{}</td><td>{}</td><td>{} {} / {}</td>"
        "</tr>\n",
        i + 1, name_of(finding.group.finding->kind), text(finding.op_name),
        text(page.place(finding)), share_bar(finding.group.cases, finding.cases, "no"),
        finding.group.cases, finding.cases);
  }
  return "<div class=\"scroll\"><table "
         "class=\"overview\"><tr><th>finding</th><th>op</th><th>where</th><th>failing "
         "cases</th></tr>\n" +
         rows + "</table></div>\n";
}

}  // namespace

std::string findings_sections(const CiRunSummary& summary, const CasePictures& pictures,
                              const std::string& folder) {
  Page page{summary, pictures, {folder, 0}, ci_findings(summary), {}};
  if (page.findings.empty()) return "";
  for (const CoveredLine& line : summary.coverage) page.hits[{line.file, line.line}] = line.hits;
  const size_t shown = std::min(page.findings.size(), kFindingsMax);
  std::string html = fmt::format("<h2>{}</h2>\n", counted(page.findings.size(), "finding"));
  if (page.findings.size() > 1) html += overview(page, shown);
  if (!pictures.note.empty()) {
    html += fmt::format("<p class=\"mute\">{}</p>\n", text(pictures.note));
  }
  std::set<std::string> drawn;
  for (size_t i = 0; i < shown; ++i) {
    html += section(page, i, drawn.insert(page.findings[i].op_name).second);
  }
  if (page.findings.size() > shown) {
    html += fmt::format("<p>and {}</p>\n", counted(page.findings.size() - shown, "more finding"));
  }
  return html + worst_figures(summary, pictures);
}

}  // namespace gpuemu::cli
