#include "cli/debug/commands.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "cli/debug/loop.h"

namespace gpuemu::cli {
namespace {

using Takes = DebugCommand::Takes;

constexpr size_t kNearestCommands = 3;

constexpr DebugCommand kCommands[] = {
    {"list", "ls", "list [N] [OP]", "stored failures, newest first",
     "N at most (20), of OP alone. A line begins with the seed that `load` takes.\n"
     "  list 5 softmax",
     Takes::Nothing, 2, false, do_list},
    {"load", "", "load SEED [OP]", "take a stored failure: its kernel, inputs and expected values",
     "OP tells which one, when several ops have the seed. Nothing is run on a device of this\n"
     "program yet.",
     Takes::Seed, 2, true, do_load},
    {"show", "", "show [SEED]", "all that is known about a failure: findings, dims, statistics",
     "Without SEED: the one that is loaded.", Takes::Seed, 1, false, do_show},
    {"replay", "", "replay [emulator|cuda]", "run the loaded case here, on either backend",
     "Runs every launch of the case once, on the emulator unless told otherwise, and compares the\n"
     "outputs. Afterwards `print` and `diff` show what this run computed. What takes several runs\n"
     "(other inputs before, another order of threads, relations) only `stages` finds.\n"
     "  replay cuda",
     Takes::Backend, 1, true, do_replay},
    {"tensors", "", "tensors", "the tensors of the case: role, dtype, shape, layout", "",
     Takes::Nothing, 0, false, do_tensors},
    {"print", "p", "print TENSOR[SLICE]|%REGISTER [as hex|DTYPE]",
     "elements of a tensor, in its dtype",
     "SLICE as NumPy has it: indices and start:stop:step, negative ones from the end.\n"
     "TENSOR may have a part: y.expected, y.bound (how far y may lie from it), y.error (how far "
     "it\n"
     "does), x.input. Without one: the input before a run, what is in device memory after it.\n"
     "`as hex` shows the bits, `as DTYPE` reads the same bytes as another type of that size.\n"
     "  print y[0, -3:]\n"
     "  print y.expected[::2]\n"
     "  print x[7] as hex\n"
     "  print %f3",
     Takes::Tensor, 3, false, do_print},
    {"diff", "d", "diff [TENSOR[SLICE]]", "an output against its reference, what is wrong marked",
     "Without words: every output in one line and its first wrong elements. With a slice: those\n"
     "elements as `print` shows them, wrong ones in red or between asterisks.\n"
     "  diff y[0:4, :8]",
     Takes::Tensor, 1, false, do_diff},
    {"stages", "", "stages", "run the whole pipeline in the daemon: what each stage says",
     "Inputs, kernel, memory checks, reference, shape, dtype, tolerance, NaN, Inf, invariants,\n"
     "guards, determinism, relations: as `gpuemu test` judges the case. `stage` goes through them.",
     Takes::Nothing, 0, false, do_stages},
    {"stage", "", "stage [NAME|N]", "the next stage of the pipeline, or this one, in detail",
     "  stage            the next one, from the first on\n"
     "  stage tolerance",
     Takes::Stage, 1, false, do_stage},
    {"start", "", "start", "run the case on the emulator, stopped at its first instruction", "",
     Takes::Nothing, 0, true, do_start},
    {"run", "r", "run", "run the case on the emulator, to the first breakpoint",
     "Also stops where a check reports a finding. Restarts if a launch is stopped.", Takes::Nothing,
     0, true, do_run},
    {"break", "b", "break [FILE:]LINE|ptx:LINE|FUNCTION [block X,Y,Z] [thread X,Y,Z]",
     "stop where a source line begins",
     "One line may be compiled to several pieces; it stops at each. With a block or "
     "thread\n"
     "it stops only for that one, otherwise for every warp.\n"
     "  break 12\n"
     "  break kernels.cu:12 block 1 thread 5\n"
     "  break ptx:40",
     Takes::Function, 5, false, do_break},
    {"watch", "", "watch TENSOR[INDEX]", "stop after every store to an element",
     "Reports the storing thread, the new value and the old one, even if they are equal.\n"
     "  watch y[0, 3]",
     Takes::Tensor, 1, false, do_watch},
    {"breakpoints", "info", "breakpoints", "list breakpoints and watchpoints with their hit counts",
     "", Takes::Nothing, 0, false, do_breakpoints},
    {"delete", "", "delete [N]", "delete breakpoint or watchpoint N, or all", "", Takes::Nothing, 1,
     false, do_delete},
    {"continue", "c", "continue", "continue to the next breakpoint", "", Takes::Nothing, 0, false,
     do_continue},
    {"step", "s", "step [N]", "the thread's next source line, N times",
     "Steps the thread that `thread` shows; the others run normally.", Takes::Nothing, 1, false,
     do_step},
    {"next", "n", "next [N]", "like step, without entering functions", "", Takes::Nothing, 1, false,
     do_next},
    {"stepi", "si", "stepi [N]", "the thread's next PTX instruction, N times",
     "Shows the results of the previous instruction.", Takes::Nothing, 1, false, do_stepi},
    {"finish", "", "finish", "continue until the function returns", "", Takes::Nothing, 0, false,
     do_finish},
    {"where", "w", "where", "where the launch is stopped", "", Takes::Nothing, 0, false, do_where},
    {"source", "src", "source [LINE]", "the source around this line, lines with code marked", "",
     Takes::Nothing, 1, false, do_source},
    {"threads", "", "threads", "every warp of the block: its state, and where its lanes are", "",
     Takes::Nothing, 0, false, do_threads},
    {"thread", "t", "thread [X,Y,Z]", "select a thread of the block",
     "Registers, local memory and steps are this thread's from now on.", Takes::Nothing, 1, false,
     do_thread},
    {"registers", "regs", "registers [NAME...]", "the thread's registers, typed as they are used",
     "Without names: all registers that have been written. `print %r5 as f32` reads one as another "
     "type.",
     Takes::Register, 64, false, do_registers},
    {"lanes", "", "lanes REGISTER [as TYPE]", "a register in every lane of the warp", "",
     Takes::Register, 3, false, do_lanes},
    {"shared", "", "shared [NAME][SLICE] [as hex|DTYPE]", "the block's shared memory",
     "Without words: the variables in it. Without a name: all of it.\n"
     "  shared tile[0:8] as f32",
     Takes::Nothing, 3, false, do_shared},
    {"local", "", "local [SLICE] [as hex|DTYPE]", "the thread's local memory", "", Takes::Nothing,
     3, false, do_local},
    {"params", "", "params", "the arguments of the launch", "", Takes::Nothing, 0, false,
     do_params},
    {"help", "h ?", "help [COMMAND]", "list the commands, or explain one", "", Takes::Command, 1,
     false, do_help},
    {"quit", "q exit", "quit", "end", "", Takes::Nothing, 0, false, do_quit},
};

bool is_alias(const DebugCommand& command, std::string_view word) {
  std::string_view rest = command.aliases;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == word) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const DebugCommand& command : kCommands) names.emplace_back(command.name);
  return names;
}

}  // namespace

std::span<const DebugCommand> debug_commands() { return kCommands; }

Error wrong_usage(std::string_view usage, std::string_view why) {
  return error(ErrorCode::InvalidArgument, "{}; usage: {}", why, usage);
}

Result<const DebugCommand*> command_named(const std::string& word) {
  const DebugCommand* begun = nullptr;
  size_t begins = 0;
  for (const DebugCommand& command : kCommands) {
    if (command.name == word || is_alias(command, word)) return &command;
    if (!command.name.starts_with(word)) continue;
    ++begins;
    begun = &command;
  }
  if (begins == 1) return begun;
  return error(ErrorCode::InvalidArgument,
               "no command '{}'; did you mean one of: {}; `help` lists all", word,
               fmt::join(nearest_few(word, command_names(), kNearestCommands), ", "));
}

Status run_command(DebugContext& context, const Words& words) {
  const DebugCommand& command = *GPUEMU_TRY(command_named(words.front()));
  const Words rest(words.begin() + 1, words.end());
  if (rest.size() > command.words_max) {
    return wrong_usage(command.usage, fmt::format("{}: '{}' is one word too many", command.name,
                                                  rest[command.words_max]));
  }
  if (command.ends_a_launch && context.stepping->view() != nullptr) {
    // The launch must end first, and control then returns to where this command was started.
    context.loop->put_first(words);
    context.stepping->end();
    return ok_status();
  }
  const Status done = command.run(context, rest);
  if (done) return done;
  return done.error().with_context(std::string(command.name));
}

Status do_help(DebugContext& context, const Words& words) {
  if (!words.empty()) {
    const DebugCommand& command = *GPUEMU_TRY(command_named(words.front()));
    context.out << command.usage << "\n" << command.summary << "\n";
    if (!command.text.empty()) context.out << command.text << "\n";
    if (!command.aliases.empty()) context.out << "short: " << command.aliases << "\n";
    return ok_status();
  }
  size_t width = 0;
  for (const DebugCommand& command : kCommands) width = std::max(width, command.usage.size());
  for (const DebugCommand& command : kCommands) {
    context.out << fmt::format("{:<{}}  {}\n", command.usage, width, command.summary);
  }
  context.out << "Separate several on one line by ';'. `help COMMAND` says more about one.\n";
  return ok_status();
}

Status do_quit(DebugContext& context, const Words&) {
  context.quit = true;
  return ok_status();
}

}  // namespace gpuemu::cli
