#include "cli/debug/interrupt.h"

#include <atomic>

namespace gpuemu::cli {
namespace {

std::atomic<bool> pressed{false};  // NOLINT: a signal handler can only use globals.

}  // namespace

InterruptGuard::InterruptGuard() {
  struct sigaction action{};
  action.sa_handler = [](int) { pressed = true; };
  pressed = false;
  ::sigaction(SIGINT, &action, &before_);
}

InterruptGuard::~InterruptGuard() { ::sigaction(SIGINT, &before_, nullptr); }

bool take_interrupt() { return pressed.exchange(false); }
bool is_interrupted() { return pressed; }

}  // namespace gpuemu::cli
