// The folder of `gpuemu export`: a failing case as files, with two programs that run it without
// gpuemu.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/protocol/replies.h"

namespace gpuemu::cli {

/// Path in the folder -> content. Names that come from the project or the daemon are made harmless:
/// no path leaves the folder, whatever tensors and sources are called.
std::map<std::string, std::string> export_files(const ExportedCaseReply& exported);

/// What was written, for programs: {"folder", "op_name", "seed", "finding", "files"}.
std::string exported_json(const ExportedCaseReply& exported, const std::string& folder,
                          const std::vector<std::string>& files);

/// One name as a file's: letters, digits, '_' and '-' stay, at most 40 of them.
std::string safe_name(const std::string& name);

/// The text of a C string literal, quotes included.
std::string c_string(const std::string& text);

}  // namespace gpuemu::cli
