// Runs a function on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace gpuemu {

/// Runs `work` on the calling thread and on up to `count - 1` others, and returns when all are
/// done. If the system refuses a thread, the existing ones do all the work: `work` takes its tasks
/// from a shared counter or queue. Requires that `work` does not throw.
void run_on_threads(size_t count, const std::function<void()>& work);

}  // namespace gpuemu
