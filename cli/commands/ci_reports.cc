#include "cli/commands/ci_reports.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <sstream>

#include <fmt/ranges.h>

#include "cli/commands/options.h"
#include "cli/parse/names.h"
#include "cli/report/ci.h"
#include "cli/report/ci_formats.h"
#include "cli/sign/sign.h"
#include "common/base/files.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

struct Report {
  std::string format, file;
};

Result<Report> report_of(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size()) {
    return error(ErrorCode::InvalidArgument,
                 "--report '{}': expected FORMAT=FILE, as in junit=results.xml", text);
  }
  const std::string word = text.substr(0, equals);
  const auto format = ci_format(word);
  if (!format) {
    return error(ErrorCode::InvalidArgument, "--report: {}", not_one_of(word, ci_formats()));
  }
  return Report{*format, text.substr(equals + 1)};
}

/// Returns the same path for all names of a file.
fs::path place_of(const std::string& file, const Session& session) {
  std::error_code failed;
  const fs::path path = fs::path(session.working_folder) / file;
  const fs::path real = fs::weakly_canonical(path, failed);
  return failed ? path.lexically_normal() : real;
}

/// Writes the file; returns false if that failed, which has been reported.
bool write(const std::string& file, const std::string& text, Session& session) {
  const Status written = write_file(fs::path(session.working_folder) / file, text);
  if (written) return true;
  session.err << "gpuemu: " << written.error().message << '\n';
  if (session.exit_code != ExitCode::Interrupted) session.exit_code = ExitCode::Broken;
  return false;
}

}  // namespace

Status check_place(const std::string& file, const Session& session) {
  std::error_code failed;
  const fs::path path = fs::path(session.working_folder) / file;
  if (fs::is_directory(path, failed)) {
    return error(ErrorCode::Io, "cannot write {}: it is a folder; name a file in it", file);
  }
  const fs::path folder = path.parent_path();
  if (!fs::is_directory(folder, failed)) {
    return error(ErrorCode::Io, "cannot write {}: folder {} does not exist; create it first", file,
                 folder.string());
  }
  if (can_write_file(path)) return ok_status();
  return error(ErrorCode::Io, "cannot write {}: no permission to write to {}", file,
               fs::exists(path, failed) ? "it" : folder.string());
}

bool ReportChoice::wants_coverage() const {
  const auto counts = [](const std::string& name) { return name == "lcov" || name == "codecov"; };
  if (counts(format)) return true;
  return std::ranges::any_of(more, [&](const std::string& one) {
    return counts(ci_format(one.substr(0, one.find('='))).value_or(""));
  });
}

bool ReportChoice::wants_pictures() const {
  return format == "html" || std::ranges::any_of(more, [](const std::string& one) {
           return ci_format(one.substr(0, one.find('='))) == "html";
         });
}

std::filesystem::path key_folder(const Session& session) {
  const auto home = session.environment.find("HOME");
  return home == session.environment.end() ? "" : fs::path(home->second) / ".gpuemu";
}

Status ReportChoice::check(const Session& session) const {
  if (is_signed && key_folder(session).empty()) {
    return error(ErrorCode::InvalidArgument, "--signed needs HOME, where the keys lie");
  }
  if (is_signed && !wants_pictures()) {
    return error(ErrorCode::InvalidArgument,
                 "--signed is for pages: --format html, or --report html=FILE");
  }
  std::map<fs::path, std::string> reports;
  if (!output.empty()) {
    GPUEMU_TRY(check_place(output, session));
    reports.emplace(place_of(output, session), format);
  }
  for (const std::string& text : more) {
    const Report report = GPUEMU_TRY(report_of(text));
    GPUEMU_TRY(check_place(report.file, session));
    const auto [other, is_new] = reports.emplace(place_of(report.file, session), report.format);
    std::error_code failed;
    // Pipes and terminals accept several reports, one after another.
    if (is_new ||
        (fs::exists(other->first, failed) && !fs::is_regular_file(other->first, failed))) {
      continue;
    }
    return error(ErrorCode::InvalidArgument,
                 "{}: two reports, {} and {}, would go into this file; name two files", report.file,
                 other->second, report.format);
  }
  return ok_status();
}

Result<std::string> ReportChoice::document(const std::string& name, const CiRunSummary& summary,
                                           const Config& config, const CasePictures& pictures,
                                           const Session& session) const {
  std::string text = render_ci(name, summary, config, pictures);
  if (name != "html" || !is_signed) return text;
  const SigningKey key = GPUEMU_TRY(SigningKey::load_or_create(key_folder(session)));
  return key.sign(text);
}

void ReportChoice::show(const CiRunSummary& summary, const Config& config,
                        const CasePictures& pictures, Session& session) const {
  std::ostringstream nowhere, text;
  const bool plain = format == "text" || format == "short" || format == "full";
  print_ci(summary, session.verbose, report_style(session, format), text,
           session.same_streams && plain ? nowhere : session.err);
  const auto made = plain ? Result<std::string>(text.str())
                          : document(format, summary, config, pictures, session);
  if (!made) {
    session.fail(made.error());
    return;
  }
  if (session.events) {
    // The last line, below.
  } else if (output.empty()) {
    session.out << (plain ? session.shown(*made) : *made);
  } else {
    const bool written = write(output, *made, session);
    if (written && !plain) session.err << "wrote " << output << '\n';
  }
  for (const std::string& one : more) {
    const auto report = report_of(one);
    if (!report) continue;  // check() has reported it.
    const auto another = document(report->format, summary, config, pictures, session);
    if (another) {
      write(report->file, *another, session);
    } else {
      session.fail(another.error());
    }
  }
  if (session.events) session.events->run_finished(static_cast<int>(session.exit_code), *made);
}

void add_reports(Command command, ReportChoice& reports, Session& session) {
  const auto normalise = [&reports](std::string& word) -> std::string {
    const auto format = ci_format(word);
    if (!format) return not_one_of(word, ci_formats());
    word = reports.format = *format;
    return "";
  };
  reports.format = "text";
  command.option("--format", session.format, "The report on standard output")
      .type_name(fmt::format("{}", fmt::join(ci_formats(), "|")))
      .rewrite(normalise);
  command.option("-o,--output", reports.output, "Write that report to this file instead")
      .type_name("FILE")
      .check(not_empty());
  command.option("--report", reports.more, "Write another one, as in junit=results.xml")
      .type_name("FORMAT=FILE")
      .one_word();
  command.flag("--signed", reports.is_signed,
               "Sign the page (html) with the key in ~/.gpuemu,\nwhich is made when missing");
}

}  // namespace gpuemu::cli
