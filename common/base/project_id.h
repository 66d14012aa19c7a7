// Identifies a project by the canonical path of its gpuemu.toml, so that two links to one file are
// one project.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu {

/// The project of clients without a gpuemu.toml; it has no ops.
inline constexpr char kNoProject[] = "-";
/// Holds records of databases without projects until a project claims them.
inline constexpr char kLegacyProject[] = "legacy";

/// Returns the absolute path, with links resolved in the existing part; "" for "".
std::string canonical_path(const std::string& file);
/// Returns 16 lower-case hex digits for a canonical path; kNoProject for "".
std::string project_id(std::string_view canonical_file);

}  // namespace gpuemu
