// How projects are told apart: by where their gpuemu.toml lies, so that two links to one file are
// one project.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu {

/// The project of whoever works outside of any: it has no gpuemu.toml and no ops.
inline constexpr char kNoProject[] = "-";
/// Holds the records of before projects were told apart that none has claimed.
inline constexpr char kLegacyProject[] = "legacy";

/// The absolute path with all links resolved; as far as it exists, else as it is written.
std::string canonical_path(const std::string& file);
/// 16 lower-case hex digits for a canonical path; kNoProject for "".
std::string project_id(std::string_view canonical_file);

}  // namespace gpuemu
