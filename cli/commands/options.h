// Options that several subcommands share, checked before anything runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/parse/command.h"
#include "cli/report/text.h"
#include "cli/session/session.h"

namespace gpuemu::cli {

/// Cases of each op and dtype with --quick and --thorough.
inline constexpr uint64_t kQuickCases = 10, kThoroughCases = 256;

/// --format text|json into session.format.
void add_format(Command command, Session& session);
/// --all-projects into session.all_projects.
void add_all_projects(Command command, Session& session);

/// --stream into session.stream; Session::stream_fits() says what it needs.
void add_stream(Command command, Session& session);
/// As above, with the layouts of findings: text|short|full|json.
void add_report_format(Command command, Session& session);
/// How `session` shows findings in this format: "text" has blocks on a terminal alone.
ReportStyle report_style(const Session& session, const std::string& format);
/// A case and its findings in that style.
void print_case_report(const ValidationResult& result, Session& session);

/// Digits alone, no sign, within 64 bits.
std::optional<uint64_t> parse_number(std::string_view text);
/// "90s", "10m", "2h" or plain seconds, in milliseconds. InvalidArgument names the option.
Result<uint64_t> parse_duration(const std::string& option, const std::string& text);

/// "1 op", "2 ops".
std::string counted(uint64_t count, const char* noun);
/// "2026-11-27" for seconds since 1970; "-" for 0.
std::string day_of(int64_t seconds);
/// "2026-11-27 14:03:09", in UTC.
std::string time_of(int64_t seconds);
/// Seconds since 1970 of "30d", which is before `now`, "2026-11-01", "2026-11-01T12:00" (UTC), or
/// digits. Nothing for other text.
std::optional<int64_t> parse_time(const std::string& text, int64_t now);

/// --seed N, any unsigned 64-bit number.
Option add_base_seed(Command command, std::optional<uint64_t>& seed);

/// --max-elements N.
void add_max_elements(Command command, std::optional<uint64_t>& elements);
/// --session NAME and --weight W.
void add_session(Command command, Session& session);
/// --strict
void add_strict(Command command, bool& strict);

/// Names a stored failure: SEED or --seed SEED, and --op NAME.
struct FailureChoice {
  std::string wanted;  ///< A seed, its first digits, or "last"; "" where none was given.
  std::string op;
  std::optional<uint64_t> seed;  ///< What find_seed() made of it.
};
/// Whether a folder with a case.json will do in place of a seed.
enum class TakesFolder { No, Yes };
void add_failure_choice(Command command, FailureChoice& choice,
                        TakesFolder folder = TakesFolder::No);
/// Finds the seed that is wanted among those stored; asks nobody for one that is written in full.
/// False where none was given or found, which has been told.
bool find_seed(FailureChoice& choice, const std::string& command, Session& session);

/// A tag as TAG or --tag TAG.
void add_tag(Command command, std::string& tag);

}  // namespace gpuemu::cli
