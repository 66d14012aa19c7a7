// A worker that keeps tensors of a tape, as the daemon asks it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "daemon/worker/worker_client.h"

namespace gpuemu {

/// What became of a request to a worker.
struct TapeReply {
  enum class End {
    Answered,
    LostBefore,  ///< The worker was lost before it got the request.
    LostWithIt,  ///< The worker was lost while it had the request: that may be why.
    TooLong,     ///< The request took longer than any may, and the worker was ended for it.
  };
  End end = End::LostBefore;
  std::vector<std::byte> answer = {};
};

/// Once it is lost, what it kept is gone: another channel begins with nothing. Any thread; one
/// request at a time.
class TapeChannel {
 public:
  virtual ~TapeChannel() = default;
  virtual std::string worker_id() const = 0;
  /// Sends a request of daemon/tapes and waits.
  virtual TapeReply ask(std::vector<std::byte> request) = 0;
  /// Does not wait for a request that is under way.
  virtual bool is_lost() = 0;
};

/// A worker process of its own. Errors are those of WorkerClient's start.
Result<std::shared_ptr<TapeChannel>> start_tape_process(WorkerOptions options,
                                                        std::string worker_id);

}  // namespace gpuemu
