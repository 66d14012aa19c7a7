// The reports that a command writes, and where it writes them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/parse/command.h"
#include "cli/report/case_pictures.h"
#include "cli/session/session.h"
#include "common/protocol/ci.gen.h"

namespace gpuemu::cli {

/// The options --format and --output for one report, and --report FORMAT=FILE for further ones.
struct ReportChoice {
  std::string output;
  std::vector<std::string> more;
  bool is_signed = false;

  bool wants_coverage() const;
  /// Returns whether one of the reports is a page.
  bool wants_pictures() const;
  /// Checks the choices before hours of work: InvalidArgument for an unknown format, Io for a file
  /// that cannot be written.
  Status check(const Session& session) const;
  /// Writes all reports. A report that cannot be written is reported and sets the exit code.
  void show(const CiRunSummary& summary, const Config& config, const CasePictures& pictures,
            Session& session) const;

  /// Returns one document, signed if that was requested.
  Result<std::string> document(const std::string& name, const CiRunSummary& summary,
                               const Config& config, const CasePictures& pictures,
                               const Session& session) const;

  std::string format;  ///< Format of the report on standard output or in `output`.
};

/// Io if the file cannot be written.
Status check_place(const std::string& file, const Session& session);

/// Returns ~/.gpuemu, the folder with the keys of signed pages; empty without HOME.
std::filesystem::path key_folder(const Session& session);

/// Repeats a case of each finding for the pictures of a page. `note` says which pictures are
/// missing.
CasePictures picture_cases(const CiRunSummary& summary, Session& session);
/// Like picture_cases(), also with the smallest case of each finding and the counts of every line,
/// for an archive.
CasePictures archive_cases(const CiRunSummary& summary, Session& session);

void add_reports(Command command, ReportChoice& reports, Session& session);

}  // namespace gpuemu::cli
