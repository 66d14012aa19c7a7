// A failing CI run in one file, to be opened on another host: its report, its cases with their
// inputs, and the project.
//
//   archive := gzip(JSON)
//   JSON    := { "gpuemu_archive": 1, "version", "config", "files": { PATH: base64 },
//                "run": CiRunComplete, "cases": [ReproduceResult], "page", "left_out": [text] }
//
// Paths are relative, with "/" between their parts. There are no links and no permissions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/protocol/ci.gen.h"
#include "common/protocol/replies.gen.h"

namespace gpuemu::cli {

inline constexpr size_t kArchiveBytesMax = size_t{128} << 20;   ///< The file's size.
inline constexpr size_t kUnpackedBytesMax = size_t{512} << 20;  ///< The size of its JSON.

struct RunArchive {
  std::string version;                       ///< The version of gpuemu that wrote it.
  std::string config;                        ///< The project file, one of `files`.
  std::map<std::string, std::string> files;  ///< Path in the project -> content.
  CiRunSummary run;
  std::vector<ReproduceResultReply> cases;  ///< With their inputs, PTX, launches and profiles.
  std::string page;                         ///< The report in HTML.
  std::vector<std::string> left_out;  ///< Files that the project needs and that are not included.
};

Result<std::string> pack_archive(const RunArchive& archive);
/// Corruption for a damaged archive and for paths that lead out of its folder; ResourceExhausted
/// for one that is too large unpacked.
Result<RunArchive> unpack_archive(std::string_view bytes);

/// Returns one of its cases as JSON, for a file.
std::string case_text(const ReproduceResultReply& one);

/// Returns whether the path stays in the folder that it is written into: relative, with no part
/// that is empty or begins with a dot, no backslash, no control character.
bool is_harmless_path(std::string_view path);

}  // namespace gpuemu::cli
