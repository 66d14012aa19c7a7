// What a client's process and user are called.
#pragma once

#include <string>

#include <sys/types.h>

namespace gpuemu {

/// "python3[4711]"; "client" where the process cannot be seen from here. Characters that do not
/// print become '?'.
std::string client_name(pid_t pid);

/// The user's name, or the number where there is none.
std::string user_name(uid_t uid);

/// Whether the text has a control character, which could change a terminal.
bool has_control_character(const std::string& text);

}  // namespace gpuemu
