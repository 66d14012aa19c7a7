// flock with a limit and with the name of who holds it.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include <sys/types.h>

#include "common/base/result.h"

namespace gpuemu {

/// "process 123 (gpuemu-daemon)".
std::string name_of_process(pid_t process);

/// The process that took the lock on this open file or folder; nothing where there is no lock or
/// the kernel does not tell.
std::optional<pid_t> holder_of_lock(int file);

/// Takes the exclusive lock, which the caller holds until it closes the descriptor. Unavailable,
/// with the holder's name, when another has it for longer than `patience`.
Status lock_file(int file, const std::filesystem::path& path, std::chrono::milliseconds patience);

}  // namespace gpuemu
