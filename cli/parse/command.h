// Declares commands, their options and their callbacks. The parser behind it (CLI11) takes longer
// to compile than any command, so only command.cc includes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/parse/checks.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gpuemu::cli {

/// A handle for one option, valid as long as its Program.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// Sets the name of the value in the help; " " shows no name.
  Option type_name(const std::string& name);
  Option help(const std::string& text);
  /// Adds a check. Checks apply in the order in which they were added.
  Option check(const Check& check);
  /// As check(), for checks that rewrite the value, such as an alias to its full name.
  Option rewrite(const Check& rewrite);
  Option not_negative();
  /// Accepts only one of `words`, shown in the help as a|b.
  Option one_of(const std::vector<std::string>& words);
  Option required();
  /// Hides the option from the help; used for the spelling of earlier versions.
  Option hidden();
  /// Shows the variable's current value as the default.
  Option show_default();
  /// Accepts a list as one word with `letter` between its items.
  Option separated_by(char letter);
  /// Takes one word each time it is given, so that arguments may follow a list.
  Option one_word();
  /// Collects all given values, in order.
  Option take_all();
  Option excludes(Option other);
  /// Rejects the option if the other one is not given.
  Option needs(Option other);

 private:
  CLI::Option* option_;
};

/// The help on an option.
struct OptionText {
  std::vector<std::string> short_names,
      long_names;             ///< Without dashes; both empty for an argument.
  std::string argument_name;  ///< "SEED"; empty for an option.
  std::string type_name, help;
  bool takes_value = false;
};

/// The help on a command, for completion and the manual page. Hidden parts are not included.
struct CommandText {
  std::string name, help, footer;
  std::vector<OptionText> options;  ///< Options with a name.
  std::optional<OptionText> first_argument;
  std::vector<CommandText> commands;
};

/// A handle for one command, valid as long as its Program.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  /// Adds a subcommand.
  Command command(const std::string& name, const std::string& help);

  /// Adds an option; `names` as in "-l,--limit", or without a dash for an argument. `into` must
  /// outlive parsing.
  Option option(const std::string& names, std::string& into, const std::string& help);
  Option option(const std::string& names, uint64_t& into, const std::string& help);
  Option option(const std::string& names, uint32_t& into, const std::string& help);
  Option option(const std::string& names, double& into, const std::string& help);
  Option option(const std::string& names, std::optional<std::string>& into,
                const std::string& help);
  Option option(const std::string& names, std::optional<uint64_t>& into, const std::string& help);
  Option option(const std::string& names, std::optional<int64_t>& into, const std::string& help);
  Option option(const std::string& names, std::optional<double>& into, const std::string& help);
  Option option(const std::string& names, std::vector<std::string>& into, const std::string& help);
  /// Adds an option without a value.
  Option flag(const std::string& names, bool& into, const std::string& help);

  Command callback(std::function<void()> run);
  Command footer(const std::string& text);
  /// Hides the command from the help; used for the name of earlier versions.
  Command hidden();
  Command require_command();
  Command optional_command();
  /// Prevents the lookup of unknown options in the parent command.
  Command keep_options();

  /// Returns whether the parsed line names a subcommand.
  bool has_chosen() const;
  CommandText text() const;

 private:
  CLI::App* app_;
};

/// The command line of a program. Exactly one command is required; its options are also accepted by
/// its subcommands.
class Program {
 public:
  Program(const std::string& name, const std::string& help, const std::string& version);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command root();
  /// Runs the callback of the chosen command, or prints the help or the version. Otherwise runs
  /// nothing and returns the error in the line, with a reference to the help.
  std::optional<std::string> parse(std::vector<std::string> words);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace gpuemu::cli
