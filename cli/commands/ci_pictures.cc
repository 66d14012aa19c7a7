// Repeats the cases that a page illustrates, with their details.
#include <algorithm>
#include <chrono>
#include <ostream>

#include "cli/commands/ci_reports.h"
#include "cli/report/ci_findings.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

// Nobody reads a page with more pictures, and a case that hangs takes seconds.
constexpr size_t kPicturesMax = 24;
constexpr std::chrono::seconds kPictureTime{30};

void draw_progress(size_t done, size_t all, Session& session) {
  if (!session.terminal || session.events) return;
  if (done < all) {
    session.err << fmt::format("\rpictures {}/{}\x1b[K", done, all) << std::flush;
  } else {
    session.err << "\r\x1b[K" << std::flush;
  }
}

/// Returns each case once, in the order of the findings.
std::vector<const ValidationResult*> wanted_cases(const std::vector<CiFinding>& findings,
                                                  bool smallest_too) {
  std::vector<const ValidationResult*> wanted;
  const auto add = [&](const ValidationResult* one) {
    const bool known = std::ranges::any_of(wanted, [&](const ValidationResult* other) {
      return other->op_name == one->op_name && other->seed == one->seed;
    });
    if (!known) wanted.push_back(one);
  };
  for (const CiFinding& finding : findings) {
    add(finding.drawn);
    if (smallest_too) add(finding.group.smallest);
  }
  return wanted;
}

CasePictures run_again(const CiRunSummary& summary, bool for_archive, Session& session) {
  CasePictures pictures;
  const auto findings = ci_findings(summary);
  const auto wanted = wanted_cases(findings, for_archive);
  const auto deadline = std::chrono::steady_clock::now() + kPictureTime;
  size_t missing = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    draw_progress(i, wanted.size(), session);
    const bool is_over = pictures.cases.size() >= kPicturesMax || session.interrupted ||
                         std::chrono::steady_clock::now() > deadline;
    auto reply = is_over ? error(ErrorCode::Timeout, "")
                         : session.call(ReproduceRequest{.seed = wanted[i]->seed,
                                                         .op_name = wanted[i]->op_name,
                                                         .profile = for_archive,
                                                         .details = true});
    auto* again = reply ? std::get_if<ReproduceResultReply>(&*reply) : nullptr;
    if (again == nullptr) {
      ++missing;
    } else {
      pictures.cases.push_back(std::move(*again));
    }
  }
  draw_progress(wanted.size(), wanted.size(), session);
  if (missing > 0) {
    pictures.note = fmt::format(
        "no pictures of {} of {}: {} could not be run again, or not within {} s and {} cases",
        missing, counted(wanted.size(), "case"), missing == 1 ? "it" : "they", kPictureTime.count(),
        kPicturesMax);
  }
  return pictures;
}

}  // namespace

CasePictures picture_cases(const CiRunSummary& summary, Session& session) {
  return run_again(summary, false, session);
}

CasePictures archive_cases(const CiRunSummary& summary, Session& session) {
  return run_again(summary, true, session);
}

}  // namespace gpuemu::cli
