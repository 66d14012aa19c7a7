#include "cli/parse/command.h"

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "cli/parse/usage.h"

namespace gpuemu::cli {
namespace {

const auto kAny = [](const CLI::App*) { return true; };

/// Returns the innermost command that was recognized.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

/// Returns the words before "--": the rest belongs to another program.
std::vector<std::string> before_separator(std::vector<std::string> words) {
  words.erase(std::ranges::find(words, "--"), words.end());
  return words;
}

Mistake mistake_of(const CLI::App& app, const CLI::ParseError& wrong) {
  const CLI::App& command = innermost(app);
  Mistake mistake{.command = full_name(command),
                  .left = before_separator(app.remaining(true)),
                  .needs_command = command.get_require_subcommand_min() > 0,
                  .what = wrong.what()};
  for (const CLI::App* one : command.get_subcommands(kAny)) {
    mistake.commands.push_back(one->get_name());
  }
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) mistake.options.push_back("--" + name);
  }
  return mistake;
}

OptionText text_of(const CLI::Option& option) {
  return {.short_names = option.get_snames(),
          .long_names = option.get_lnames(),
          .argument_name = option.get_name(true),
          .type_name = option.get_type_name(),
          .help = option.get_description(),
          .takes_value = option.get_items_expected_max() > 0};
}

CommandText text_of(const CLI::App& app) {
  CommandText text{
      .name = app.get_name(), .help = app.get_description(), .footer = app.get_footer()};
  for (const CLI::Option* one : app.get_options()) {
    const bool named = !one->get_lnames().empty() || !one->get_snames().empty();
    if (named && !one->get_group().empty()) text.options.push_back(text_of(*one));
    if (one->get_positional() && !text.first_argument) text.first_argument = text_of(*one);
  }
  for (const CLI::App* one : app.get_subcommands(kAny)) {
    if (!one->get_group().empty()) text.commands.push_back(text_of(*one));
  }
  return text;
}

}  // namespace

Option Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option Option::help(const std::string& text) {
  option_->description(text);
  return *this;
}

Option Option::check(const Check& check) {
  option_->check(CLI::Validator(check, ""));
  return *this;
}

Option Option::rewrite(const Check& rewrite) {
  option_->transform(CLI::Validator(rewrite, ""));
  return *this;
}

Option Option::not_negative() {
  return check([](std::string& text) {
    const bool refused = !CLI::NonNegativeNumber(text).empty();
    return refused ? fmt::format("expected a number from 0 on, got '{}'", text) : std::string();
  });
}

Option Option::one_of(const std::vector<std::string>& words) {
  return type_name(fmt::format("{}", fmt::join(words, "|"))).check(cli::one_of(words));
}

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::hidden() {
  option_->group("");
  return *this;
}

Option Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option Option::separated_by(char letter) {
  option_->delimiter(letter);
  return *this;
}

Option Option::one_word() {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::take_all() {
  option_->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}

Command Command::command(const std::string& name, const std::string& help) {
  return Command(app_->add_subcommand(name, help));
}

Option Command::option(const std::string& names, std::string& into, const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, uint64_t& into, const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, uint32_t& into, const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, double& into, const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, std::optional<std::string>& into,
                       const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, std::optional<uint64_t>& into,
                       const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, std::optional<int64_t>& into,
                       const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, std::optional<double>& into,
                       const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, std::vector<std::string>& into,
                       const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Command::flag(const std::string& names, bool& into, const std::string& help) {
  return Option(app_->add_flag(names, into, help));
}

Command Command::callback(std::function<void()> run) {
  app_->callback(std::move(run));
  return *this;
}

Command Command::footer(const std::string& text) {
  app_->footer(text);
  return *this;
}

Command Command::hidden() {
  app_->group("");
  return *this;
}

Command Command::require_command() {
  app_->require_subcommand(1);
  return *this;
}

Command Command::optional_command() {
  app_->require_subcommand(0, 1);
  return *this;
}

Command Command::keep_options() {
  app_->fallthrough(false);
  return *this;
}

bool Command::has_chosen() const { return !app_->get_subcommands().empty(); }

CommandText Command::text() const { return text_of(*app_); }

Program::Program(const std::string& name, const std::string& help, const std::string& version)
    : app_(std::make_unique<CLI::App>(help, name)) {
  app_->require_subcommand(1);
  app_->fallthrough();
  app_->set_version_flag("-V,--version", version);
  app_->get_formatter()->label("SUBCOMMAND", "COMMAND");
  app_->get_formatter()->label("Subcommands", "Commands");
}

Program::~Program() = default;

Command Program::root() { return Command(app_.get()); }

std::optional<std::string> Program::parse(std::vector<std::string> words) {
  std::ranges::reverse(words);  // The parser takes the last one first.
  try {
    app_->parse(std::move(words));
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() != 0) return usage_problem(mistake_of(*app_, wrong));
    app_->exit(wrong);
  }
  return std::nullopt;
}

}  // namespace gpuemu::cli
