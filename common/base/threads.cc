#include "common/base/threads.h"

#include <system_error>
#include <thread>
#include <vector>

namespace gpuemu {

void run_on_threads(size_t count, const std::function<void()>& work) {
  std::vector<std::jthread> helpers;
  helpers.reserve(count);
  try {
    for (size_t index = 1; index < count; ++index) helpers.emplace_back(work);
  } catch (const std::system_error&) {  // The standard library's error if there is no thread
                                        // available.
  }
  work();
}

}  // namespace gpuemu
