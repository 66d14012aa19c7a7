// The table of the commands of `gpuemu debug`. A new command needs a function and a row.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/debug/context.h"
#include "cli/debug/words.h"

namespace gpuemu::cli {

struct DebugCommand {
  /// The kind of arguments, for completion.
  enum class Takes : uint8_t { Nothing, Seed, Tensor, Backend, Command, Stage, Register, Function };
  std::string_view name;
  std::string_view aliases;  ///< Separated by spaces.
  std::string_view usage;
  std::string_view summary;  ///< One line.
  std::string_view text;     ///< Further explanation, with examples.
  Takes takes;
  size_t words_max;    ///< Limits on arguments, not counting the name.
  bool ends_a_launch;  ///< A stopped launch is ended before the command runs.
  Status (*run)(DebugContext& context, const Words& words);
};

std::span<const DebugCommand> debug_commands();
/// Finds a command by name, alias or unique prefix of a name. InvalidArgument lists the most
/// similar ones.
Result<const DebugCommand*> command_named(const std::string& word);
/// Runs a command. InvalidArgument shows its usage.
Status run_command(DebugContext& context, const Words& words);

// The commands, by topic.
// case_commands.cc
Status do_list(DebugContext& context, const Words& words);
Status do_load(DebugContext& context, const Words& words);
Status do_show(DebugContext& context, const Words& words);
Status do_replay(DebugContext& context, const Words& words);
// tensor_commands.cc
Status do_tensors(DebugContext& context, const Words& words);
Status do_print(DebugContext& context, const Words& words);
Status do_diff(DebugContext& context, const Words& words);
/// REQUIRES: `words` are valid. print_register prints a register.
Status print_tensor(DebugContext& context, const Words& words);
// step_commands.cc
Status do_start(DebugContext& context, const Words& words);
Status do_run(DebugContext& context, const Words& words);
Status do_continue(DebugContext& context, const Words& words);
Status do_step(DebugContext& context, const Words& words);
Status do_next(DebugContext& context, const Words& words);
Status do_stepi(DebugContext& context, const Words& words);
Status do_finish(DebugContext& context, const Words& words);
Status do_break(DebugContext& context, const Words& words);
Status do_watch(DebugContext& context, const Words& words);
Status do_breakpoints(DebugContext& context, const Words& words);
Status do_delete(DebugContext& context, const Words& words);
// machine_commands.cc
Status do_where(DebugContext& context, const Words& words);
Status do_source(DebugContext& context, const Words& words);
Status do_threads(DebugContext& context, const Words& words);
Status do_thread(DebugContext& context, const Words& words);
Status do_registers(DebugContext& context, const Words& words);
Status do_lanes(DebugContext& context, const Words& words);
Status do_shared(DebugContext& context, const Words& words);
Status do_local(DebugContext& context, const Words& words);
Status do_params(DebugContext& context, const Words& words);
Status print_register(DebugContext& context, const Words& words);
// stage_commands.cc
std::vector<std::string> stage_names();
Status do_stages(DebugContext& context, const Words& words);
Status do_stage(DebugContext& context, const Words& words);
// commands.cc
Status do_help(DebugContext& context, const Words& words);
Status do_quit(DebugContext& context, const Words& words);

/// Makes "error: wrong words for `usage`".
Error wrong_usage(std::string_view usage, std::string_view why);

}  // namespace gpuemu::cli
