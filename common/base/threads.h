// Runs one piece of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace gpuemu {

/// Runs `work` here and on up to `count - 1` threads more, and returns when all of them are done.
/// Where the system refuses a thread, those that there are do the work: `work` takes its tasks from
/// a common counter or queue. REQUIRES: `work` does not throw.
void run_on_threads(size_t count, const std::function<void()>& work);

}  // namespace gpuemu
