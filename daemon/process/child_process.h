// A child process with one socket to talk to it. It leaves nothing behind: when this process dies,
// however it dies, the kernel kills the child's whole process group.
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
/// Returns now plus `milliseconds`, limited so that huge numbers do not wrap around.
Deadline deadline_after(uint64_t milliseconds);

struct ChildOptions {
  std::vector<std::string> command;  ///< command[0] is a path, or a name that is searched for in
                                     ///< PATH.
  std::string folder;                ///< Working folder; "": that of this process.
  std::vector<int> inherit;          ///< Become descriptors kChildFirstInherited, +1, ...
};

/// Descriptors in the child: its end of the socket, then what it inherits.
inline constexpr int kChildSocket = 3;
inline constexpr int kChildFirstInherited = 4;

/// A running child. Used by one thread at a time.
class ChildProcess {
 public:
  /// Starts the program and returns when it runs. Unavailable if it cannot be executed.
  static Result<ChildProcess> spawn(const ChildOptions& options);

  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();  ///< As kill().

  /// Returns whether it is still running; reaps it if it has ended.
  bool running();
  /// Returns -1 if it is not running.
  pid_t pid() const { return pid_; }

  /// Sends the bytes. Unavailable if the child is gone, Timeout at the deadline. Meanwhile reads
  /// the child's standard output and error, so that it never blocks on them.
  Status send(std::span<const std::byte> bytes, Deadline deadline);
  /// Appends received data: at least one byte, at most `bytes_max`. Polls without sleeping for
  /// `busy` first, which uses a processor but saves the time of waking up.
  Status receive(std::vector<std::byte>& to, size_t bytes_max, Deadline deadline,
                 std::chrono::microseconds busy = {});

  /// Reads its output until it ends by itself, and returns its exit code. Returns nothing if a
  /// signal ended it, or if the deadline came first, after which it is killed.
  std::optional<int> wait(Deadline deadline);

  /// Kills its process group and every descendant that left the group, and reaps the child.
  void kill();
  /// Closes the socket and waits until the deadline for the child to end; then kills it.
  void stop(Deadline deadline);

  /// Returns the last bytes of its standard output and error.
  std::string error_tail();
  /// Discards what it has written so far.
  void forget_errors();
  /// Returns "exit code 3" or "signal 11 (Segmentation fault)"; "" while it runs.
  std::string ending() const;

 private:
  Status wait_for(short events, Deadline deadline);
  void drain_errors();
  void wait_for_end(Deadline deadline);  ///< Kills it after the deadline.
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
