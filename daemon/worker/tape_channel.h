// A worker that keeps tensors of a tape, as the daemon asks it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/worker/worker_client.h"

namespace gpuemu {

/// Once it is lost, what it kept is gone: another channel begins with nothing. Any thread; one
/// request at a time.
class TapeChannel {
 public:
  virtual ~TapeChannel() = default;
  virtual std::string worker_id() const = 0;
  /// The answer to a request of daemon/tapes; nothing once the worker is lost.
  virtual std::optional<std::vector<std::byte>> ask(std::vector<std::byte> request) = 0;
  /// Does not wait for a request that is under way.
  virtual bool is_lost() = 0;
};

/// A worker process of its own. Errors are those of WorkerClient's start.
Result<std::shared_ptr<TapeChannel>> start_tape_process(WorkerOptions options,
                                                        std::string worker_id);

}  // namespace gpuemu
