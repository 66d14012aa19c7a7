// A process that we start, talk to over one socket and end without leaving anything behind. When
// this process dies, however it dies, the kernel kills the child's whole process group.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace gpuemu {

using Deadline = std::chrono::steady_clock::time_point;
/// Now plus `milliseconds`; far away rather than wrapped around for huge numbers.
Deadline deadline_after(uint64_t milliseconds);

struct ChildOptions {
  std::vector<std::string> command;  ///< command[0] is a path or a name to look for in PATH.
  std::string folder;                ///< Working folder; "" keeps ours.
  std::vector<int> inherit;          ///< Become descriptors kChildFirstInherited, +1, ...
};

/// Descriptors in the child: its end of the socket, then what it inherits.
inline constexpr int kChildSocket = 3;
inline constexpr int kChildFirstInherited = 4;

/// Used by one thread at a time.
class ChildProcess {
 public:
  /// Returns when the program runs. Unavailable when it cannot be executed.
  static Result<ChildProcess> spawn(const ChildOptions& options);

  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();  ///< kill().

  /// Whether it has not ended yet; reaps it when it has.
  bool running();
  /// -1 when it does not run.
  pid_t pid() const { return pid_; }

  /// Unavailable when the child is gone, Timeout at the deadline. What the child writes to its
  /// standard output and error is taken meanwhile, so that it never blocks on them.
  Status send(std::span<const std::byte> bytes, Deadline deadline);
  /// Appends what has arrived, at least one byte, at most `bytes_max`. Looks again and again for
  /// `busy` before it sleeps, which takes a processor and spares the time of being woken.
  Status receive(std::vector<std::byte>& to, size_t bytes_max, Deadline deadline,
                 std::chrono::microseconds busy = {});

  /// Takes what it writes until it ends by itself: its exit code. Nothing when a signal ended it or
  /// the deadline came first; it is killed then.
  std::optional<int> wait(Deadline deadline);

  /// Kills its process group and every descendant that left the group, and reaps it.
  void kill();
  /// Closes the socket and waits for its own end until the deadline; then kill().
  void stop(Deadline deadline);

  /// The last bytes of its standard output and error.
  std::string error_tail();
  /// What it has written until now is not part of the tail any more.
  void forget_errors();
  /// "exit code 3", "signal 11 (Segmentation fault)"; "" while it runs.
  std::string ending() const;

 private:
  Status wait_for(short events, Deadline deadline);
  void drain_errors();
  void wait_for_end(Deadline deadline);  ///< Then kill().
  void reap(bool block);

  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
  UniqueFd socket_;
  UniqueFd errors_;    ///< Reads the child's standard output and error.
  UniqueFd lifeline_;  ///< Closing it kills the child's group.
  std::string error_tail_;
};

}  // namespace gpuemu
