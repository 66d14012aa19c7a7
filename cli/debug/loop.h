// Reads lines and runs their commands until the session ends.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "cli/debug/context.h"
#include "cli/debug/input.h"

namespace gpuemu::cli {

/// Reentrant: when a launch stops, commands are read inside the command that started it.
class CommandLoop {
 public:
  CommandLoop(DebugContext& context, LineSource& lines) : context_(context), lines_(lines) {}

  /// Runs until `done`, the end of input, `quit`, or the first error if the session is not
  /// interactive.
  void run(const std::function<bool()>& done);
  /// Queues a command before all others.
  void put_first(Words command) { queue_.push_front(std::move(command)); }
  /// Returns the error that ended the loop, if any.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  bool fill();
  void take(const Error& error);
  bool was_interrupted();

  DebugContext& context_;
  LineSource& lines_;
  std::deque<Words> queue_;
  std::optional<Error> failure_;
};

}  // namespace gpuemu::cli
