// Turns a parse error into one sentence with a remedy.
#include "cli/parse/usage.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "common/toml/nearest.h"

namespace gpuemu::cli {
namespace {

/// Returns the command that other tools call by this name.
std::string did_you_mean_command(const std::string& word, const std::vector<std::string>& names) {
  static const std::map<std::string, std::string> kOtherWords = {
      {"run", "test"},         {"validate", "test"},   {"verify", "test"},
      {"replay", "reproduce"}, {"rerun", "reproduce"}, {"shrink", "minimize"},
      {"reduce", "minimize"},  {"list", "failures"},   {"logs", "daemon"},
  };
  const auto other = kOtherWords.find(word);
  const bool known = other != kOtherWords.end() && std::ranges::count(names, other->second) > 0;
  return known ? fmt::format("; did you mean '{}'?", other->second) : did_you_mean(word, names);
}

std::string did_you_mean_option(const std::string& word, const std::vector<std::string>& names) {
  static const std::map<std::string, std::string> kOtherWords = {
      {"--iterations", "--cases"}, {"--cases", "--iterations"}, {"--out", "--output"}};
  const auto has = [&](const std::string& name) { return std::ranges::count(names, name) > 0; };
  const auto other = kOtherWords.find(word);
  if (other != kOtherWords.end() && has(other->second)) {
    return fmt::format("; did you mean '{}'?", other->second);
  }
  // Formats are options of a report, not commands.
  static const std::map<std::string, std::string> kFormats = {
      {"--json", "json"}, {"--html", "html"}, {"--junit", "junit"}, {"--sarif", "sarif"}};
  const auto format = kFormats.find(word);
  if (format != kFormats.end() && has("--report")) {
    return fmt::format("; did you mean '--report {}=FILE'?", format->second);
  }
  if (format != kFormats.end() && has("--format")) {
    return fmt::format("; did you mean '--format {}'?", format->second);
  }
  for (const char* key : {"backend", "arch", "workers"}) {
    if (word == std::string("--") + key && !has(word)) {
      return fmt::format("; write {0} = ... under [runtime] of gpuemu.toml", key);
    }
  }
  if (word == "--op" || word == "--kernel") return "; ops and kernels are named without an option";
  return did_you_mean(word, names);
}

/// Rewrites the parser's "--seed: 1 required N missing"; returns other text unchanged.
std::string with_missing_value(const std::string& what) {
  constexpr std::string_view kRequired = ": 1 required ", kMissing = " missing";
  const size_t at = what.find(kRequired);
  if (at == std::string::npos || !what.ends_with(kMissing)) return what;
  const size_t begin = at + kRequired.size();
  return fmt::format("{} needs a value; expected {} {}", what.substr(0, at), what.substr(0, at),
                     what.substr(begin, what.size() - kMissing.size() - begin));
}

}  // namespace

std::string usage_problem(const Mistake& mistake) {
  std::string text = with_missing_value(mistake.what);
  if (text.starts_with(": ")) text.erase(0, 2);  // Aliases that the help hides have no name.
  const bool is_option = !mistake.left.empty() && mistake.left.front().starts_with("-");
  if (is_option) {
    text = fmt::format("unknown option {}{}", mistake.left.front(),
                       did_you_mean_option(mistake.left.front(), mistake.options));
  } else if (!mistake.commands.empty() && !mistake.left.empty()) {
    const std::string meant = did_you_mean_command(mistake.left.front(), mistake.commands);
    text = fmt::format(
        "no command '{}'{}", mistake.left.front(),
        !meant.empty() ? meant : fmt::format("; there are: {}", fmt::join(mistake.commands, ", ")));
  } else if (!mistake.commands.empty() && mistake.needs_command) {
    text = fmt::format("a command is missing; there are: {}", fmt::join(mistake.commands, ", "));
  } else if (!mistake.left.empty()) {
    text = fmt::format("unexpected '{}'", mistake.left.front());
  }
  return fmt::format("{}: {}\n`{} --help` shows what there is", mistake.command, text,
                     mistake.command);
}

}  // namespace gpuemu::cli
