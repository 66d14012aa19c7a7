#include "cli/report/kernel_coverage.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/report/coverage_json.h"
#include "cli/report/escape.h"
#include "cli/report/seed_text.h"
#include "cli/report/text.h"
#include "common/base/text.h"
#include "common/codec/json_codec.h"

namespace gpuemu::cli {
namespace {

// Larger source files are not shown.
constexpr uintmax_t kSourceBytesMax = uintmax_t{16} << 20;
constexpr size_t kQuoteMax = 100;

/// One line of a file with the directions of its branches.
struct Line {
  bool has_code = false;
  uint64_t hits = 0;
  std::vector<const BranchWay*> ways;

  size_t ways_taken() const {
    return static_cast<size_t>(
        std::ranges::count_if(ways, [](const BranchWay* way) { return way->hits > 0; }));
  }
};
using LinesOfFile = std::map<uint32_t, Line>;
using Files = std::map<std::string, LinesOfFile>;

Files files_of(const KernelCoverageReply& coverage) {
  Files files;
  for (const CoveredLine& line : coverage.lines) {
    Line& at = files[line.file][line.line];
    at.has_code = true;
    at.hits += line.hits;
  }
  for (const BranchWay& way : coverage.branches) files[way.file][way.line].ways.push_back(&way);
  return files;
}

std::string shown_name(const std::string& file, const Config& config) {
  const auto path = std::filesystem::path(file).lexically_normal();
  const auto inside = path.lexically_relative(config.folder);
  const bool below = path.is_absolute() && !inside.empty() && *inside.begin() != "..";
  return one_line(clean(below ? inside.string() : path.string()));
}

struct Counts {
  size_t lines = 0, lines_all = 0, ways = 0, ways_all = 0;
};

Counts counts_of(const Files& files) {
  Counts counts;
  for (const auto& [file, lines] : files) {
    for (const auto& [number, line] : lines) {
      if (line.has_code) ++counts.lines_all;
      if (line.has_code && line.hits > 0) ++counts.lines;
      counts.ways_all += line.ways.size();
      counts.ways += line.ways_taken();
    }
  }
  return counts;
}

std::string summary_of(const KernelCoverageReply& coverage, const Files& files) {
  const Counts counts = counts_of(files);
  return fmt::format(
      "{}: {} of {} ran, {} of {} ways out of branches were taken, {} of {}; {} of {}{}, seed {}",
      coverage.kernel, counts.lines, counted(counts.lines_all, "line"), counts.ways,
      counts.ways_all, coverage.blocks, counted(coverage.blocks_total, "block"),
      counted(coverage.cases, "case"), fmt::join(coverage.ops, ", "),
      coverage.replayed > 0 ? fmt::format(" ({} of the corpus)", coverage.replayed) : "",
      coverage.seed);
}

/// Returns the trimmed line of the source; "" if it cannot be read.
std::string quote(const Sources& sources, const std::string& file, uint32_t line) {
  const auto source = sources.find(file);
  if (source == sources.end() || line == 0 || line > source->second.size()) return "";
  const std::string text = one_line(clean(source->second[line - 1]));
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : clipped(text.substr(first), kQuoteMax);
}

/// Describes a direction of a branch that was never taken.
std::string missing_way(const BranchWay& way, const Line& line, const Sources& sources) {
  // The line did not run at all, which is reported separately.
  if (line.ways_taken() == 0) return "";
  std::string text = "never goes on";
  if (way.to_line > 0) {
    text += fmt::format(" at line {}", way.to_line);
    const std::string there = quote(sources, way.file, way.to_line);
    if (!there.empty() && way.to_line != way.line) text += fmt::format(" ({})", there);
  }
  return text;
}

std::string as_text(const KernelCoverageReply& coverage, const Config& config,
                    const Sources& sources) {
  const Files files = files_of(coverage);
  std::string text = summary_of(coverage, files) + "\n";
  for (const auto& [file, lines] : files) {
    const std::string name = shown_name(file, config);
    for (const auto& [number, line] : lines) {
      if (line.has_code && line.hits == 0) {
        text += fmt::format("{}:{}: never runs: {}\n", name, number, quote(sources, file, number));
        continue;
      }
      std::set<std::string> told;  // Several branches of a line may lack the same direction.
      for (const BranchWay* way : line.ways) {
        if (way->hits > 0) continue;
        const std::string why = missing_way(*way, line, sources);
        if (why.empty() || !told.insert(why).second) continue;
        text += fmt::format("{}:{}: {}: {}\n", name, number, why, quote(sources, file, number));
      }
    }
  }
  return text;
}

std::string as_lcov(const KernelCoverageReply& coverage, const Config& config) {
  std::string text;
  for (const auto& [file, lines] : files_of(coverage)) {
    text += fmt::format("TN:gpuemu\nSF:{}\n", shown_name(file, config));
    size_t found = 0, ran = 0, ways = 0, taken = 0;
    for (const auto& [number, line] : lines) {
      for (const BranchWay* way : line.ways) {
        // "-" means that the branch was never reached.
        const bool reached = line.ways_taken() > 0;
        text += fmt::format("BRDA:{},{},{},{}\n", number, way->branch, way->way,
                            reached ? std::to_string(way->hits) : "-");
      }
      ways += line.ways.size();
      taken += line.ways_taken();
      if (!line.has_code) continue;
      text += fmt::format("DA:{},{}\n", number, line.hits);
      ++found;
      if (line.hits > 0) ++ran;
    }
    text += fmt::format("BRF:{}\nBRH:{}\nLF:{}\nLH:{}\nend_of_record\n", ways, taken, found, ran);
  }
  return text;
}

std::string as_codecov(const KernelCoverageReply& coverage, const Config& config) {
  std::vector<CodecovFile> files;
  for (const auto& [file, lines] : files_of(coverage)) {
    CodecovFile& one = files.emplace_back(CodecovFile{shown_name(file, config), {}});
    for (const auto& [number, line] : lines) {
      if (!line.has_code) continue;
      const size_t taken = line.ways_taken(), ways = line.ways.size();
      const bool is_partial = line.hits > 0 && taken < ways;
      one.lines[number] = {line.hits, is_partial ? fmt::format("{}/{}", taken, ways) : ""};
    }
  }
  return codecov_json(files);
}

constexpr const char* kStyle = R"(
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;
max-width:75rem;padding:0 1rem;color:#1b1f24}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}
td{font:13px/1.5 ui-monospace,monospace;padding:0 .6rem;
white-space:pre-wrap;vertical-align:top}
td.n{text-align:right;color:#656d76;width:1%;white-space:pre}
tr.ran{background:#e6f4ea}tr.part{background:#fff4ce}tr.never{background:#fde7e9}.why{color:#9a3412}
)";

std::string html_row(uint32_t number, const Line* line, const std::string& source,
                     const Sources& sources) {
  if (line == nullptr || (!line->has_code && line->ways.empty())) {
    return fmt::format("<tr><td class=\"n\">{}</td><td class=\"n\"></td><td>{}</td></tr>\n", number,
                       markup(source));
  }
  const bool ran = line->hits > 0 || line->ways_taken() > 0;
  const bool whole = line->ways_taken() == line->ways.size();
  std::string why;
  for (const BranchWay* way : line->ways) {
    const std::string missing = way->hits > 0 ? "" : missing_way(*way, *line, sources);
    if (!missing.empty() && why.find(missing) == std::string::npos) {
      why += (why.empty() ? "" : "; ") + missing;
    }
  }
  return fmt::format(
      "<tr class=\"{}\"><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}{}</td></tr>\n",
      !ran    ? "never"
      : whole ? "ran"
              : "part",
      number, line->hits, markup(source),
      why.empty() ? "" : fmt::format("  <span class=\"why\">{}</span>", markup(why)));
}

std::string as_html(const KernelCoverageReply& coverage, const Config& config,
                    const Sources& sources) {
  const Files files = files_of(coverage);
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>coverage of "
      "{}</title><style>{}</style></head><body>\n<h1>Coverage of {}</h1>\n<p>{}</p>\n<p>Second "
      "column: threads' instructions. Green ran, yellow misses a way out of a branch, red never "
      "ran.</p>\n",
      markup(coverage.kernel), kStyle, markup(coverage.kernel),
      markup(clean(summary_of(coverage, files))));
  for (const auto& [file, lines] : files) {
    html += fmt::format("<h2>{}</h2>\n<table>\n", markup(shown_name(file, config)));
    const auto source = sources.find(file);
    const auto at = [&](uint32_t number) {
      const auto line = lines.find(number);
      return line == lines.end() ? nullptr : &line->second;
    };
    if (source == sources.end()) {
      for (const auto& [number, line] : lines) html += html_row(number, &line, "", sources);
    } else {
      for (uint32_t number = 1; number <= source->second.size(); ++number) {
        html += html_row(number, at(number), source->second[number - 1], sources);
      }
    }
    html += "</table>\n";
  }
  return html + "</body></html>\n";
}

}  // namespace

Sources sources_of(const KernelCoverageReply& coverage) {
  Sources sources;
  for (const CoveredLine& line : coverage.lines) {
    if (sources.contains(line.file)) continue;
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(line.file, ignored)) continue;
    if (std::filesystem::file_size(line.file, ignored) > kSourceBytesMax) continue;
    std::ifstream in(line.file, std::ios::binary);
    std::vector<std::string>& text = sources[line.file];
    for (std::string one; std::getline(in, one);) text.push_back(clean(one));
  }
  return sources;
}

std::string kernel_coverage_text(const KernelCoverageReply& coverage, const Config& config,
                                 const Sources& sources, const std::string& format) {
  if (format == "lcov") return as_lcov(coverage, config);
  if (format == "codecov") return as_codecov(coverage, config);
  if (format == "html") return as_html(coverage, config, sources);
  if (format == "json") return with_seed_texts(encode_reply(Reply(coverage))) + "\n";
  return as_text(coverage, config, sources);
}

}  // namespace gpuemu::cli
