// Declares commands, their options and what runs them. The parser behind it (CLI11) costs more to
// compile than any command, so command.cc alone includes it.
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

/// A handle of one option, valid as long as its Program.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// The word for the value in the help; " " for none.
  Option type_name(const std::string& name);
  Option help(const std::string& text);
  /// Several checks apply in the order in which they were given.
  Option check(const Check& check);
  /// As check(), for a check that rewrites the value, such as an alias to its full name.
  Option rewrite(const Check& rewrite);
  Option not_negative();
  /// One of `words`, shown in the help as a|b.
  Option one_of(const std::vector<std::string>& words);
  Option required();
  /// Not in the help: the spelling of earlier versions.
  Option hidden();
  /// Shows the value that the variable has now as the default.
  Option show_default();
  /// A list may be written as one word with `letter` between its items.
  Option separated_by(char letter);
  /// Takes one word each time it is given, so that arguments may follow a list.
  Option one_word();
  /// Collects what is given each time, in order.
  Option take_all();
  Option excludes(Option other);
  /// Refused where the other one is not given.
  Option needs(Option other);

 private:
  CLI::Option* option_;
};

/// What the help says of an option.
struct OptionText {
  std::vector<std::string> short_names,
      long_names;             ///< Without dashes; both empty for an argument.
  std::string argument_name;  ///< "SEED"; empty for an option.
  std::string type_name, help;
  bool takes_value = false;
};

/// What the help says of a command, for completion and the manual page. Nothing hidden is in it.
struct CommandText {
  std::string name, help, footer;
  std::vector<OptionText> options;  ///< Options with a name.
  std::optional<OptionText> first_argument;
  std::vector<CommandText> commands;
};

/// A handle of one command, valid as long as its Program.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  /// A command below this one.
  Command command(const std::string& name, const std::string& help);

  /// `names` as in "-l,--limit"; without a dash it is an argument. `into` outlives the parsing.
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
  /// An option without a value.
  Option flag(const std::string& names, bool& into, const std::string& help);

  Command callback(std::function<void()> run);
  Command footer(const std::string& text);
  /// Not in the help: the name of earlier versions.
  Command hidden();
  Command require_command();
  Command optional_command();
  /// Options that it does not know are not looked up in the command above.
  Command keep_options();

  /// Whether the parsed line names a command below this one.
  bool has_chosen() const;
  CommandText text() const;

 private:
  CLI::App* app_;
};

/// The command line of a program: one command is required, whose options the commands below it take
/// too.
class Program {
 public:
  Program(const std::string& name, const std::string& help, const std::string& version);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command root();
  /// Runs the callback of the chosen command, or prints the help or the version. Otherwise says
  /// what is wrong with the line, where the help is, and runs nothing.
  std::optional<std::string> parse(std::vector<std::string> words);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace gpuemu::cli
