#include "cli/report/ci_formats.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "cli/report/ci.h"
#include "cli/report/ci_documents.h"
#include "common/base/check.h"

namespace gpuemu::cli {
namespace {

using Render = std::string (*)(const CiRunSummary&, const Config&, const CasePictures&);

/// Adapts documents without pictures.
template <std::string (*Function)(const CiRunSummary&, const Config&)>
std::string plain(const CiRunSummary& summary, const Config& config, const CasePictures&) {
  return Function(summary, config);
}

struct Format {
  const char* name;
  Render render;
};

std::string text_of(const CiRunSummary& summary, const Config&) {
  std::ostringstream text, again;
  print_ci(summary, true, {}, text, again);
  return text.str();
}

std::string blocks_of(const CiRunSummary& summary, const Config& config) {
  std::ostringstream text, again;
  const std::filesystem::path file = config.file;
  print_ci(summary, true, {.blocks = true, .block = {.folder = file.parent_path()}}, text, again);
  return text.str();
}

std::string json_of(const CiRunSummary& summary, const Config&) { return ci_json(summary); }

constexpr Format kFormats[] = {
    {"text", plain<text_of>},          {"short", plain<text_of>},  {"full", plain<blocks_of>},
    {"json", plain<json_of>},          {"junit", plain<ci_junit>}, {"sarif", plain<ci_sarif>},
    {"pr-comment", plain<ci_comment>}, {"html", ci_html},          {"lcov", plain<ci_lcov>},
    {"codecov", plain<ci_codecov>},
};

struct Alias {
  const char* word;
  const char* name;
};
constexpr Alias kAliases[] = {{"xml", "junit"}, {"prcomment", "pr-comment"}};

}  // namespace

std::optional<std::string> ci_format(const std::string& word) {
  std::string name;
  for (const char letter : word) {
    const auto byte = static_cast<unsigned char>(letter);
    name += letter == '_' ? '-' : static_cast<char>(std::tolower(byte));
  }
  for (const Alias& alias : kAliases) {
    if (name == alias.word) name = alias.name;
  }
  const auto is_it = [&](const Format& format) { return name == format.name; };
  if (!std::ranges::any_of(kFormats, is_it)) return std::nullopt;
  return name;
}

std::vector<std::string> ci_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::string render_ci(const std::string& format, const CiRunSummary& summary, const Config& config,
                      const CasePictures& pictures) {
  const auto found =
      std::ranges::find_if(kFormats, [&](const Format& one) { return format == one.name; });
  GPUEMU_CHECK(found != std::end(kFormats));
  return found->render(summary, config, pictures);
}

}  // namespace gpuemu::cli
