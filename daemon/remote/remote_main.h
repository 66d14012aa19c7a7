// `gpuemu-worker --connect`: serves a daemon on another machine.
#pragma once

#include <string>

namespace gpuemu {

/// Whether these are the words of a remote worker.
bool is_remote_worker(int count, char** words);

/// Serves until it is ended; its exit code. `program` is the path of gpuemu-worker.
int run_remote_worker(int count, char** words, const std::string& program);

}  // namespace gpuemu
