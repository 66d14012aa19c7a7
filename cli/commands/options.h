// Options that several subcommands share, checked before anything runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/commands/session.h"

namespace gpuemu::cli {

/// --format text|json into session.format.
void add_format(CLI::App& command, Session& session);

/// Refuses what is not a whole number from `lowest` to `highest`, negative ones among them.
CLI::Validator whole_number(uint64_t lowest, uint64_t highest);

/// Digits alone, no sign, within 64 bits.
std::optional<uint64_t> parse_number(std::string_view text);
/// "90s", "10m", "2h" or plain seconds, in milliseconds. InvalidArgument names the option.
Result<uint64_t> parse_duration(const std::string& option, const std::string& text);

/// --seed N, any unsigned 64-bit number.
CLI::Option* add_base_seed(CLI::App& command, std::optional<uint64_t>& seed);

/// --max-elements N.
void add_max_elements(CLI::App& command, std::optional<uint64_t>& elements);

/// Which stored failure is meant: SEED or --seed SEED, and --op NAME.
struct FailureChoice {
  std::optional<uint64_t> seed;
  std::string op;
};
void add_failure_choice(CLI::App& command, FailureChoice& choice);
/// False when no seed was given, which has been told.
bool has_seed(const FailureChoice& choice, const std::string& command, Session& session);

/// A tag as TAG or --tag TAG.
void add_tag(CLI::App& command, std::string& tag);

/// One of `words`, shown in the help as a|b.
void check_one_of(CLI::Option& option, const std::vector<std::string>& words);

}  // namespace gpuemu::cli
