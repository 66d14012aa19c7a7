// Checks and help texts of the shared options.
#include "cli/commands/options.h"

#include <charconv>
#include <limits>
#include <ostream>
#include <sstream>

#include "common/base/service_limits.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kAnyNumber = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kSecondsMax = 7 * 24 * 3600;

}  // namespace

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t value = 0;
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<uint64_t> parse_duration(const std::string& option, const std::string& text) {
  const size_t unit = text.find_first_not_of("0123456789");
  const std::string name = unit == std::string::npos ? "s" : text.substr(unit);
  const auto number = parse_number(std::string_view(text).substr(0, unit));
  const uint64_t seconds = name == "s" ? 1 : name == "m" ? 60 : name == "h" ? 3600 : 0;
  if (!number || seconds == 0 || *number == 0 || *number > kSecondsMax / seconds) {
    return error(ErrorCode::InvalidArgument,
                 "{} '{}': expected a time up to a week, as in 90s, 10m or 2h", option, text);
  }
  return *number * seconds * 1000;
}

void add_format(Command command, Session& session) {
  Option option =
      command.option("--format", session.format, "For people (text) or programs (json)");
  option.one_of({"text", "json"});
}

void add_stream(Command command, Session& session) {
  command.flag("--stream", session.stream,
               "With --format json: a line for each thing that happens, then\nthe report");
}

void add_report_format(Command command, Session& session) {
  Option option = command.option(
      "--format", session.format,
      "For people (text), one line per finding (short), with\nthe source line (full, as text on a "
      "terminal), or json");
  option.one_of({"text", "short", "full", "json"});
}

ReportStyle report_style(const Session& session, const std::string& format) {
  const bool is_shown = format == "text" && session.style;
  ReportStyle style;
  style.blocks = is_shown || format == "full";
  style.compact = (is_shown || format == "full" || format == "short") && !session.verbose;
  style.block = {.folder = session.working_folder,
                 .columns = session.style ? session.style->columns : 0,
                 .details = session.verbose};
  return style;
}

void print_case_report(const ValidationResult& result, Session& session) {
  const ReportStyle style = report_style(session, session.format);
  std::ostringstream text;
  print_case(result, text, style);
  session.out << (style.blocks ? session.shown(text.str()) : text.str());
}

Option add_base_seed(Command command, std::optional<uint64_t>& seed) {
  return command
      .option("--seed", seed,
              "Base seed: the same one makes the same cases\n"
              "(default: validation.seed, else a fresh one)")
      .type_name("N")
      .check(whole_number(0, kAnyNumber));
}

void add_max_elements(Command command, std::optional<uint64_t>& elements) {
  command
      .option("--max-elements", elements,
              "Elements of the largest tensor of a case\n"
              "(default: max_elements of gpuemu.toml, else by backend)")
      .type_name("N")
      .check(whole_number(1, static_cast<uint64_t>(kMaxElementsMax)));
}

void add_strict(Command command, bool& strict) {
  command.flag("--strict", strict,
               "Fail whatever exceeds the bound of \"auto\", however exact its\nformula is "
               "(docs/internals/validation.md)");
}

void add_failure_choice(Command command, FailureChoice& choice) {
  command.option("SEED", choice.seed, "Seed of the failure, as `gpuemu failures` lists it")
      .type_name(" ")
      .check(whole_number(0, kAnyNumber));
  command.option("--seed", choice.seed, "The same").check(whole_number(0, kAnyNumber)).hidden();
  command.option("--op", choice.op, "The op, where failures of several have this seed")
      .type_name("NAME");
}

bool has_seed(const FailureChoice& choice, const std::string& command, Session& session) {
  if (choice.seed) return true;
  session.fail(error(ErrorCode::InvalidArgument,
                     "{} needs the seed of a failure; `gpuemu failures` lists them", command));
  return false;
}

void add_tag(Command command, std::string& tag) {
  command.option("TAG", tag, "Name of the baseline").type_name(" ");
  command.option("--tag", tag, "The same").hidden();
}

}  // namespace gpuemu::cli
