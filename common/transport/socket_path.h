// Private to this folder: what has to be known about a Unix domain socket's path before it is
// used.
#pragma once

#include <filesystem>
#include <string>

#include <sys/un.h>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace gpuemu {

/// InvalidArgument when the kernel could not hold the path.
Status check_socket_path(const std::filesystem::path& path);

/// REQUIRES: check_socket_path.
sockaddr_un socket_address(const std::filesystem::path& path);

/// Who accepts connections on the path: "process 123 (gpuemu-daemon)". NotFound when there is no
/// such file, Unavailable when nobody listens there, Io when it cannot be asked.
Result<std::string> holder_of(const std::filesystem::path& path);

/// Makes the socket's folder (mode 0700) if need be and locks it until the descriptor is closed: of
/// two daemons that start at once neither removes the other's new socket. Unavailable when another
/// process keeps the lock for a second, with its name.
Result<UniqueFd> lock_socket_folder(const std::filesystem::path& path);

/// Removes a socket file on which nobody answers. Unavailable when somebody does. The caller holds
/// lock_socket_folder.
Status prepare_socket_path(const std::filesystem::path& path);

}  // namespace gpuemu
