// The reports that a command writes, and where it writes them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/parse/command.h"
#include "cli/report/case_pictures.h"
#include "cli/session/session.h"
#include "common/protocol/ci.h"

namespace gpuemu::cli {

/// --format and --output for one report, --report FORMAT=FILE for more of them.
struct ReportChoice {
  std::string output;
  std::vector<std::string> more;
  bool is_signed = false;

  bool wants_coverage() const;
  /// Whether a page is among them.
  bool wants_pictures() const;
  /// InvalidArgument for an unknown format, Io for a place that cannot be written: told before
  /// hours of work.
  Status check(const Session& session) const;
  /// Writes them all; what cannot be written is told and sets the exit code.
  void show(const CiRunSummary& summary, const Config& config, const CasePictures& pictures,
            Session& session) const;

  /// One document, signed where that is asked for.
  Result<std::string> document(const std::string& name, const CiRunSummary& summary,
                               const Config& config, const CasePictures& pictures,
                               const Session& session) const;

  std::string format;  ///< Format of the report on standard output or in `output`.
};

/// Io for a file that cannot be written there.
Status check_place(const std::string& file, const Session& session);

/// ~/.gpuemu, where the keys of signed pages lie; empty without HOME.
std::filesystem::path key_folder(const Session& session);

/// Runs a case of each finding again, for the pictures of a page. What it cannot have,
/// the page does not show: `note` says so.
CasePictures picture_cases(const CiRunSummary& summary, Session& session);
/// The smallest case of each finding too, and what every line did, for an archive.
CasePictures archive_cases(const CiRunSummary& summary, Session& session);

void add_reports(Command command, ReportChoice& reports, Session& session);

}  // namespace gpuemu::cli
