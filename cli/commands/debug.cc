// `gpuemu debug`: examines a failure interactively.
#include "cli/debug/debug.h"

#include <iostream>

#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"

namespace gpuemu::cli {
namespace {

struct DebugOptions {
  FailureChoice failure;
  std::vector<std::string> commands;
  bool repl = false;
};

bool has(const Session& session, const char* variable) {
  const auto found = session.environment.find(variable);
  return found != session.environment.end() && !found->second.empty();
}

bool draws_colour(const Session& session) {
  const auto terminal = session.environment.find("TERM");
  const bool dumb = terminal == session.environment.end() || terminal->second == "dumb";
  return !dumb && ::isatty(STDOUT_FILENO) == 1 && !has(session, "NO_COLOR") &&
         !has(session, "GPUEMU_NO_COLOR");
}

RunSettings settings_of(const Config& config) {
  return {.contraction = config.contraction,
          .memory_limit_bytes = config.memory_limit_mb << 20,
          .timeout_ms = config.case_timeout_ms,
          .sanitize = config.sanitize};
}

CommandSources sources_of(const DebugOptions& options, const Session& session) {
  CommandSources sources;
  if (options.failure.seed) {
    const std::string op = options.failure.op.empty() ? "" : " \"" + options.failure.op + "\"";
    sources.first.push_back(fmt::format("load {}{}", *options.failure.seed, op));
  }
  sources.commands = options.commands;
  const bool only_given = !options.commands.empty() && !options.repl;
  sources.prompt = !only_given && (options.repl || ::isatty(STDIN_FILENO) == 1);
  if (!only_given && !sources.prompt) sources.lines = &std::cin;
  const auto home = session.environment.find("HOME");
  if (home != session.environment.end() && !home->second.empty()) {
    sources.history_file = home->second + "/.gpuemu/debug_history";
  }
  return sources;
}

void run(DebugOptions& options, Session& session) {
  const auto config = session.config();
  if (!config) return;
  if (!options.failure.wanted.empty() && !find_seed(options.failure, "debug", session)) return;
  DebugEnvironment environment{session.out, session.err};
  environment.colour = draws_colour(session);
  environment.settings = settings_of(*config);
  environment.ask = [&session, ready = false](const Request& request) mutable -> Result<Reply> {
    if (!ready) GPUEMU_TRY(session.ensure_daemon());
    ready = true;
    return session.call(request);
  };
  const Status done = run_debug(environment, sources_of(options, session));
  if (done) return;
  session.fail(done.error());
  if (done.error().code == ErrorCode::Cancelled) session.exit_code = ExitCode::Interrupted;
}

}  // namespace

void add_debug(Command app, Session& session) {
  auto options = std::make_shared<DebugOptions>();
  Command command =
      app.command("debug", "Examine a failure: tensors, stages, the kernel step by step");
  add_failure_choice(command, options->failure);
  command
      .option("-c,--command", options->commands,
              "Run these commands and end; separate several by ';'.\nMay be repeated")
      .type_name("COMMANDS")
      .one_word()
      .take_all();
  command.flag("--repl", options->repl,
               "Prompt for commands, even after -c and without a terminal");
  command.footer(
      "Without -c it reads commands from the terminal, or from standard input to its end; `help`\n"
      "lists them. A command of -c or of standard input that fails ends the session; one typed at\n"
      "the prompt does not.\n"
      "Example:\n"
      "  gpuemu debug 6610381852238677408 -c 'replay; diff y[0:4]'");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
