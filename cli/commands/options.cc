// Checks and help texts of the shared options.
#include "cli/commands/options.h"

#include <charconv>
#include <limits>

#include <fmt/ranges.h>

#include "common/base/service_limits.h"
#include "common/config/nearest.h"

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

CLI::Validator whole_number(uint64_t lowest, uint64_t highest) {
  const auto problem = [lowest, highest](std::string& text) -> std::string {
    uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, value);
    if (failed == std::errc{} && stop == end && value >= lowest && value <= highest) return "";
    return fmt::format("'{}' is not a whole number from {} to {}", text, lowest, highest);
  };
  return CLI::Validator(problem, "");
}

void check_one_of(CLI::Option& option, const std::vector<std::string>& words) {
  const auto problem = [words](std::string& text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end()) return "";
    return fmt::format("'{}' is not one of {}{}", text, fmt::join(words, ", "),
                       did_you_mean(text, words));
  };
  option.type_name(fmt::format("{}", fmt::join(words, "|")))->check(CLI::Validator(problem, ""));
}

void add_format(CLI::App& command, Session& session) {
  CLI::Option* option =
      command.add_option("--format", session.format, "For people (text) or programs (json)");
  check_one_of(*option, {"text", "json"});
}

CLI::Option* add_base_seed(CLI::App& command, std::optional<uint64_t>& seed) {
  return command
      .add_option("--seed", seed,
                  "Base seed: the same one makes the same cases\n"
                  "(default: validation.seed, else a fresh one)")
      ->type_name("N")
      ->check(whole_number(0, kAnyNumber));
}

void add_max_elements(CLI::App& command, std::optional<uint64_t>& elements) {
  command
      .add_option("--max-elements", elements,
                  "Elements of the largest tensor of a case\n"
                  "(default: max_elements of gpuemu.toml, else by backend)")
      ->type_name("N")
      ->check(whole_number(1, static_cast<uint64_t>(kMaxElementsMax)));
}

void add_failure_choice(CLI::App& command, FailureChoice& choice) {
  command.add_option("SEED", choice.seed, "Seed of the failure, as `gpuemu failures` lists it")
      ->type_name(" ")
      ->check(whole_number(0, kAnyNumber));
  command.add_option("--seed", choice.seed, "The same")
      ->check(whole_number(0, kAnyNumber))
      ->group("");
  command.add_option("--op", choice.op, "Of this op, when several ops have this seed")
      ->type_name("NAME");
}

bool has_seed(const FailureChoice& choice, const std::string& command, Session& session) {
  if (choice.seed) return true;
  session.fail(error(ErrorCode::InvalidArgument,
                     "{} needs the seed of a failure; `gpuemu failures` lists them", command));
  return false;
}

void add_tag(CLI::App& command, std::string& tag) {
  command.add_option("TAG", tag, "Name of the baseline")->type_name(" ");
  command.add_option("--tag", tag, "The same")->group("");
}

}  // namespace gpuemu::cli
