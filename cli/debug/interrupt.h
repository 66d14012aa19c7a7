// Handles Ctrl-C during a session: it stops the current work, not the program.
#pragma once

#include <signal.h>

namespace gpuemu::cli {

/// Handles SIGINT during its lifetime. Only one may exist at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();

 private:
  struct sigaction before_{};
};

/// Returns whether Ctrl-C was pressed since the last call; always false without a guard.
bool take_interrupt();
/// Returns whether Ctrl-C was pressed; does not reset it.
bool is_interrupted();

}  // namespace gpuemu::cli
