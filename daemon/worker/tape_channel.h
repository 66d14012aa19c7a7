// The daemon's interface to a worker that keeps tensors of a tape.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "daemon/worker/worker_client.h"

namespace gpuemu {

/// The outcome of a request to a worker.
struct TapeReply {
  enum class End {
    Answered,
    LostBefore,  ///< The worker was lost before it got the request.
    LostWithIt,  ///< The worker was lost while it had the request, possibly because of it.
    TooLong,     ///< The request exceeded the time limit, so the worker was killed.
  };
  End end = End::LostBefore;
  std::vector<std::byte> answer = {};
};

/// A channel to one worker. Once it is lost, its tensors are gone: another channel starts empty.
/// Thread-safe; one request at a time.
class TapeChannel {
 public:
  virtual ~TapeChannel() = default;
  virtual std::string worker_id() const = 0;
  /// Sends a request of daemon/tapes and waits for the answer.
  virtual TapeReply ask(std::vector<std::byte> request) = 0;
  /// Does not wait for a request in progress.
  virtual bool is_lost() = 0;
};

/// Starts a separate worker process. Errors are those of starting a WorkerClient.
Result<std::shared_ptr<TapeChannel>> start_tape_process(WorkerOptions options,
                                                        std::string worker_id);

}  // namespace gpuemu
