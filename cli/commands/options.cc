// Implements the shared options: checks and help texts.
#include "cli/commands/options.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <limits>
#include <ostream>
#include <sstream>

#include "common/base/service_limits.h"
#include "common/base/units.h"

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

std::string day_of(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  if (seconds <= 0 || ::gmtime_r(&time, &parts) == nullptr) return "-";
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::string time_of(int64_t seconds) {
  const uint64_t second = static_cast<uint64_t>(std::max<int64_t>(seconds, 0)) % kDaySeconds;
  return fmt::format("{} {:02}:{:02}:{:02}", day_of(seconds), second / kHourSeconds,
                     second % kHourSeconds / kMinuteSeconds, second % kMinuteSeconds);
}

std::optional<int64_t> parse_time(const std::string& text, int64_t now) {
  if (const auto number = parse_number(text)) {
    if (*number > kAnyNumber / 2) return std::nullopt;
    return static_cast<int64_t>(*number);
  }
  if (const auto age = parse_age(text)) return now - static_cast<int64_t>(*age);
  std::string date = text;
  if (date.ends_with('Z')) date.pop_back();
  std::ranges::replace(date, ' ', 'T');
  for (const char* form : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    std::tm parts{};
    const char* const end = ::strptime(date.c_str(), form, &parts);
    if (end != nullptr && *end == '\0') return ::timegm(&parts);
  }
  return std::nullopt;
}

void add_format(Command command, Session& session) {
  Option option =
      command.option("--format", session.format, "For people (text) or programs (json)");
  option.one_of({"text", "json"});
}

void add_all_projects(Command command, Session& session) {
  command.flag("--all-projects", session.all_projects,
               "Include all projects that the daemon knows");
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

void print_case_report(const ValidationResult& result, const std::string& guess, Session& session) {
  const ReportStyle style = report_style(session, session.format);
  std::ostringstream text;
  print_case(result, text, style);
  text << guess_warning(guess, style);
  session.out << (style.blocks ? session.shown(text.str()) : text.str());
}

namespace {

Check seed_or_last(TakesFolder folder = TakesFolder::No) {
  return [folder](std::string& text) -> std::string {
    if (text == "last" || parse_number(text)) return "";
    std::error_code ignored;
    if (folder == TakesFolder::Yes && std::filesystem::is_directory(text, ignored)) {
      if (std::filesystem::exists(std::filesystem::path(text) / "case.json", ignored)) return "";
      return fmt::format("'{}' has no case.json: expected a folder that check() of a program wrote",
                         text);
    }
    return fmt::format("'{}' is neither the seed of a failure, nor its first digits, nor `last`",
                       text);
  };
}

/// Returns the seeds of stored failures that the choice may refer to, newest first. Returns nothing
/// if they cannot be read, which has been reported.
std::optional<std::vector<uint64_t>> stored_seeds(const FailureChoice& choice, Session& session) {
  if (const Status ready = session.ensure_daemon(); !ready) {
    session.fail(ready.error());
    return std::nullopt;
  }
  const uint64_t most = choice.wanted == "last" ? 1 : kResultsListedMax;
  const auto reply = session.ask_for(ListFailuresRequest{most, choice.op});
  if (!reply) return std::nullopt;
  std::vector<uint64_t> seeds;
  for (const ValidationResult& one : reply->results) {
    if (std::ranges::find(seeds, one.seed) == seeds.end()) seeds.push_back(one.seed);
  }
  return seeds;
}

Result<uint64_t> chosen_seed(const FailureChoice& choice, const std::vector<uint64_t>& seeds) {
  if (choice.wanted == "last") {
    if (!seeds.empty()) return seeds.front();
    return error(ErrorCode::NotFound, "no failure is stored{}; `gpuemu test` looks for some",
                 choice.op.empty() ? "" : fmt::format(" of op '{}'", choice.op));
  }
  const auto number = parse_number(choice.wanted);
  if (std::ranges::find(seeds, *number) != seeds.end()) return *number;
  std::vector<uint64_t> fitting;
  for (const uint64_t seed : seeds) {
    if (std::to_string(seed).starts_with(choice.wanted)) fitting.push_back(seed);
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty()) return *number;  // The daemon reports that there is none.
  std::string list;
  constexpr size_t kListedMax = 4;
  for (size_t i = 0; i < std::min(fitting.size(), kListedMax); ++i) {
    list += fmt::format("{}{}", i == 0 ? "" : ", ", fitting[i]);
  }
  if (fitting.size() > kListedMax) list += ", ...";
  return error(ErrorCode::InvalidArgument,
               "{} failures have seeds that begin with {}: {}; write more digits", fitting.size(),
               choice.wanted, list);
}

}  // namespace

Option add_base_seed(Command command, std::optional<uint64_t>& seed) {
  return command
      .option("--seed", seed,
              "Base seed: the same seed gives the same cases\n"
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

void add_session(Command command, Session& session) {
  Option name = command.option("--session", session.session_name,
                               "Run in a session of this name (docs/guides/sharing.md)");
  name.type_name("NAME").check(not_empty());
  command
      .option("--weight", session.session_weight,
              "Its share of the devices beside other sessions (default: 1)")
      .type_name("W")
      .check(number(kSessionWeightMin, kSessionWeightMax))
      .needs(name);
}

void add_strict(Command command, bool& strict) {
  command.flag("--strict", strict,
               "Fail whatever exceeds the bound of \"auto\", however exact its\nformula is "
               "(docs/internals/validation.md)");
}

void add_failure_choice(Command command, FailureChoice& choice, TakesFolder folder) {
  std::string help =
      "Seed of the failure, as `gpuemu failures` lists it;\nits first digits are enough, "
      "`last` is the newest";
  if (folder == TakesFolder::Yes) help += ";\nor the folder that check() of a program wrote";
  command.option("SEED", choice.wanted, help).type_name(" ").check(seed_or_last(folder));
  command.option("--seed", choice.wanted, "The same").check(seed_or_last()).hidden();
  command.option("--op", choice.op, "The op, where failures of several have this seed")
      .type_name("NAME");
}

bool find_seed(FailureChoice& choice, const std::string& command, Session& session) {
  if (choice.wanted.empty()) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "{} needs the seed of a failure; `gpuemu failures` lists them, and `last` "
                       "is the newest",
                       command));
    return false;
  }
  // Only one seed in a thousand has fewer digits.
  constexpr size_t kWholeDigits = 17;
  if (choice.wanted.size() >= kWholeDigits) {
    choice.seed = parse_number(choice.wanted);
    return true;
  }
  const auto seeds = stored_seeds(choice, session);
  if (!seeds) return false;
  const auto seed = chosen_seed(choice, *seeds);
  if (!seed) session.fail(seed.error());
  if (seed) choice.seed = *seed;
  return seed.ok();
}

void add_tag(Command command, std::string& tag) {
  command.option("TAG", tag, "Name of the baseline").type_name(" ");
  command.option("--tag", tag, "The same").hidden();
}

}  // namespace gpuemu::cli
