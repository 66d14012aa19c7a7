// Identifies a project by the canonical path of its gpuemu.toml, so that two links to one file name
// one project.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu {

/// The project of clients that have no gpuemu.toml; it has no ops.
inline constexpr char kNoProject[] = "-";
/// Holds records from databases without projects until a project claims them.
inline constexpr char kLegacyProject[] = "legacy";

/// The absolute path with links resolved in the part that exists; "" for "".
std::string canonical_path(const std::string& file);
/// 16 lower-case hex digits for a canonical path; kNoProject for "".
std::string project_id(std::string_view canonical_file);

}  // namespace gpuemu
