// Writes coverage of kernel sources in the formats of lcov and Codecov.
#include <filesystem>
#include <map>

#include "cli/report/ci_documents.h"
#include "cli/report/coverage_json.h"
#include "cli/report/escape.h"

namespace gpuemu::cli {
namespace {

using Lines = std::map<uint32_t, uint64_t>;

/// Returns files with their lines; those of the project are relative to its folder.
std::map<std::string, Lines> files_of(const CiRunSummary& summary, const Config& config) {
  std::map<std::string, Lines> files;
  for (const CoveredLine& line : summary.coverage) {
    const auto path = std::filesystem::path(line.file).lexically_normal();
    const auto inside = path.lexically_relative(config.folder);
    const bool below = path.is_absolute() && !inside.empty() && *inside.begin() != "..";
    std::string name = clean(below ? inside.string() : path.string());
    for (char& letter : name) {
      if (letter == '\n') letter = ' ';  // A record must be a single line.
    }
    files[name][line.line] += line.hits;
  }
  return files;
}

}  // namespace

std::string ci_lcov(const CiRunSummary& summary, const Config& config) {
  std::string text;
  for (const auto& [file, lines] : files_of(summary, config)) {
    text += "TN:gpuemu\nSF:" + file + "\n";
    size_t ran = 0;
    for (const auto& [line, hits] : lines) {
      text += fmt::format("DA:{},{}\n", line, hits);
      if (hits > 0) ++ran;
    }
    text += fmt::format("LF:{}\nLH:{}\nend_of_record\n", lines.size(), ran);
  }
  return text;
}

std::string ci_codecov(const CiRunSummary& summary, const Config& config) {
  std::vector<CodecovFile> files;
  for (const auto& [file, lines] : files_of(summary, config)) {
    CodecovFile& one = files.emplace_back(CodecovFile{file, {}});
    for (const auto& [line, hits] : lines) one.lines[line].hits = hits;
  }
  return codecov_json(files);
}

}  // namespace gpuemu::cli
