// flock with a timeout, and with the name of the process that holds the lock.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include <sys/types.h>

#include "common/base/result.h"

namespace gpuemu {

/// Returns for example "process 123 (gpuemu-daemon)".
std::string name_of_process(pid_t process);

/// Returns the process that holds the lock on this open file or folder; nothing if there is no lock
/// or the kernel does not report it.
std::optional<pid_t> holder_of_lock(int file);

/// Takes the exclusive lock, which is held until the caller closes the descriptor. Unavailable,
/// with the holder's name, if another process holds it for longer than `patience`.
Status lock_file(int file, const std::filesystem::path& path, std::chrono::milliseconds patience);

}  // namespace gpuemu
