// Private to this folder: checks and preparation of a Unix domain socket's path.
#pragma once

#include <filesystem>
#include <string>

#include <sys/un.h>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace gpuemu {

/// InvalidArgument if the path is too long for the kernel.
Status check_socket_path(const std::filesystem::path& path);

/// Requires check_socket_path().
sockaddr_un socket_address(const std::filesystem::path& path);

/// Returns which process accepts connections on the path: "process 123 (gpuemu-daemon)". NotFound
/// if there is no such file, Unavailable if nobody listens, Io if it cannot be probed.
Result<std::string> holder_of(const std::filesystem::path& path);

/// Creates the socket's folder (mode 0700) if necessary, and locks it until the descriptor is
/// closed, so that of two starting daemons neither removes the other's new socket. Unavailable,
/// with its name, if another process keeps the lock too long.
Result<UniqueFd> lock_socket_folder(const std::filesystem::path& path);

/// Removes a socket file on which nobody answers. Unavailable if somebody does. Requires
/// lock_socket_folder().
Status prepare_socket_path(const std::filesystem::path& path);

}  // namespace gpuemu
