#include "cli/debug/loop.h"

#include <fmt/core.h>

#include "cli/debug/commands.h"
#include "cli/debug/interrupt.h"
#include "cli/report/text.h"

namespace gpuemu::cli {

/// Reports an error, which ends a script but not an interactive session.
void CommandLoop::take(const Error& error) {
  if (lines_.interactive()) {
    context_.out << std::flush;
    context_.environment.err << fmt::format("error: {}\n", one_line(error.message)) << std::flush;
    return;
  }
  failure_ = error;
  context_.quit = true;
}

/// Returns whether Ctrl-C ends the loop: it does in a script; at a prompt it only discards the rest
/// of the line.
bool CommandLoop::was_interrupted() {
  if (!take_interrupt()) return false;
  if (!lines_.interactive()) {
    failure_ = Error{ErrorCode::Cancelled, "interrupted"};
    context_.quit = true;
    return true;
  }
  queue_.clear();
  return false;
}

/// Reads more lines; returns false if there are none.
bool CommandLoop::fill() {
  context_.out << std::flush;
  const auto line = lines_.next();
  if (!line) return false;
  auto commands = split_commands(*line);
  if (!commands) {
    take(commands.error());
    return true;
  }
  for (Words& command : *commands) queue_.push_back(std::move(command));
  return true;
}

void CommandLoop::run(const std::function<bool()>& done) {
  while (!context_.quit && !done()) {
    if (was_interrupted()) return;
    if (queue_.empty()) {
      if (!fill()) context_.quit = true;
      continue;
    }
    const Words command = std::move(queue_.front());
    queue_.pop_front();
    const Status ran = run_command(context_, command);
    if (!ran) {
      if (lines_.interactive()) queue_.clear();
      take(ran.error());
    }
  }
}

}  // namespace gpuemu::cli
