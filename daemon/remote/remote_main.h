// `gpuemu-worker --connect`: serves a daemon on another machine.
#pragma once

#include <string>

namespace gpuemu {

/// Returns whether these are the arguments of a remote worker.
bool is_remote_worker(int count, char** words);

/// Serves until it is stopped, and returns the exit code. `program` is the path of gpuemu-worker.
int run_remote_worker(int count, char** words, const std::string& program);

}  // namespace gpuemu
