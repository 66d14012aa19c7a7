// Turns a parse error into one sentence with a remedy.
#include "cli/commands/usage.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/ranges.h>

#include "common/config/nearest.h"

namespace gpuemu::cli {
namespace {

/// The innermost subcommand that was recognised.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  const auto any = [](const CLI::App*) { return true; };
  for (const CLI::App* command : app.get_subcommands(any)) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// What other tools call it.
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

}  // namespace

std::string usage_problem(const CLI::App& app, const CLI::ParseError& wrong) {
  const CLI::App& command = innermost(app);
  const std::vector<std::string> commands = commands_of(command);
  const std::vector<std::string> left = app.remaining(true);
  const std::string name = full_name(command);
  std::string text = wrong.what();
  if (text.starts_with(": ")) text.erase(0, 2);  // Aliases that the help hides have no name.
  const bool is_option = !left.empty() && left.front().starts_with("-");
  if (is_option) {
    text = fmt::format("unknown option {}{}", left.front(),
                       did_you_mean(left.front(), options_of(command)));
  } else if (!commands.empty() && !left.empty()) {
    text = fmt::format("no command '{}'; there are: {}{}", left.front(), fmt::join(commands, ", "),
                       did_you_mean_command(left.front(), commands));
  } else if (!commands.empty() && command.get_require_subcommand_min() > 0) {
    text = fmt::format("a command is missing; there are: {}", fmt::join(commands, ", "));
  } else if (!left.empty()) {
    text = fmt::format("unexpected '{}'", left.front());
  }
  return fmt::format("{}: {}\n`{} --help` shows what there is", name, text, name);
}

}  // namespace gpuemu::cli
