// The folder that `gpuemu export` writes: a failing case as files, with two programs that run it
// without gpuemu.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/protocol/replies.gen.h"

namespace gpuemu::cli {

/// Returns path in the folder -> content. Names from the project or the daemon are made safe: no
/// path leaves the folder, whatever tensors and sources are called.
std::map<std::string, std::string> export_files(const ExportedCaseReply& exported);

/// Describes the written files as JSON: {"folder", "op_name", "seed", "finding", "files"}.
std::string exported_json(const ExportedCaseReply& exported, const std::string& folder,
                          const std::vector<std::string>& files);

/// Converts a name to a file name: keeps letters, digits, '_' and '-', at most 40 of them.
std::string safe_name(const std::string& name);

/// Returns a C string literal with the text, including the quotes.
std::string c_string(const std::string& text);

}  // namespace gpuemu::cli
