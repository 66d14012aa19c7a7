// Options shared by several subcommands, checked before anything runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/parse/command.h"
#include "cli/report/text.h"
#include "cli/session/session.h"

namespace gpuemu::cli {

/// The number of cases of each op and dtype with --quick and --thorough.
inline constexpr uint64_t kQuickCases = 10, kThoroughCases = 256;

/// Adds --format text|json, stored in session.format.
void add_format(Command command, Session& session);
/// Adds --all-projects, stored in session.all_projects.
void add_all_projects(Command command, Session& session);

/// Adds --stream, stored in session.stream; Session::stream_fits() checks what it requires.
void add_stream(Command command, Session& session);
/// As add_format(), with the layouts for findings: text|short|full|json.
void add_report_format(Command command, Session& session);
/// Returns how findings appear in this format: "text" uses blocks only on a terminal.
ReportStyle report_style(const Session& session, const std::string& format);
/// Prints a case and its findings in that style, and the warning about a `guess`.
void print_case_report(const ValidationResult& result, const std::string& guess, Session& session);

/// Parses a number: digits only, no sign, at most 64 bits.
std::optional<uint64_t> parse_number(std::string_view text);
/// Converts "90s", "10m", "2h" or plain seconds to milliseconds. InvalidArgument names the option.
Result<uint64_t> parse_duration(const std::string& option, const std::string& text);

/// Returns "2026-11-27" for seconds since 1970; "-" for 0.
std::string day_of(int64_t seconds);
/// Returns "2026-11-27 14:03:09", in UTC.
std::string time_of(int64_t seconds);
/// Converts "30d" (that long before `now`), "2026-11-01", "2026-11-01T12:00" (UTC) or digits to
/// seconds since 1970. Returns nothing for other text.
std::optional<int64_t> parse_time(const std::string& text, int64_t now);

/// Adds --seed N, with any unsigned 64-bit number.
Option add_base_seed(Command command, std::optional<uint64_t>& seed);

/// Adds --max-elements N.
void add_max_elements(Command command, std::optional<uint64_t>& elements);
/// Adds --session NAME and --weight W.
void add_session(Command command, Session& session);
/// Adds --strict.
void add_strict(Command command, bool& strict);

/// Selects a stored failure: SEED or --seed SEED, and --op NAME.
struct FailureChoice {
  std::string wanted;  ///< A seed, its first digits, or "last"; "" if none was given.
  std::string op;
  std::optional<uint64_t> seed;  ///< The seed that find_seed() found.
};
/// Whether a folder with a case.json is accepted in place of a seed.
enum class TakesFolder { No, Yes };
void add_failure_choice(Command command, FailureChoice& choice,
                        TakesFolder folder = TakesFolder::No);
/// Finds the requested seed among the stored ones; a seed with all its digits needs no lookup.
/// Returns false if none was given or found, which has been reported.
bool find_seed(FailureChoice& choice, const std::string& command, Session& session);

/// Adds a tag, given as TAG or --tag TAG.
void add_tag(Command command, std::string& tag);

}  // namespace gpuemu::cli
