// Reads lines and runs their commands until told to end.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "cli/debug/context.h"
#include "cli/debug/input.h"

namespace gpuemu::cli {

/// May be entered again from inside a command: a launch that stops asks for commands in the middle
/// of the one that started it.
class CommandLoop {
 public:
  CommandLoop(DebugContext& context, LineSource& lines) : context_(context), lines_(lines) {}

  /// Until `done`, the end of the lines, `quit`, or the first error where nobody sits who could go
  /// on.
  void run(const std::function<bool()>& done);
  /// To be run before whatever else there is.
  void put_first(Words command) { queue_.push_front(std::move(command)); }
  /// Why it ended; nothing when there was no error.
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
