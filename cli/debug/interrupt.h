// Ctrl-C while a session runs: it stops what is under way and not the program.
#pragma once

#include <signal.h>

namespace gpuemu::cli {

/// Takes SIGINT over for its lifetime. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();

 private:
  struct sigaction before_{};
};

/// Whether Ctrl-C was pressed since the last call. Without a guard: never.
bool take_interrupt();
/// Whether Ctrl-C was pressed; does not reset it.
bool is_interrupted();

}  // namespace gpuemu::cli
