// The cases that a page draws, run again with their details.
#include <chrono>
#include <ostream>

#include "cli/commands/ci_reports.h"
#include "cli/report/ci_findings.h"

namespace gpuemu::cli {
namespace {

// A page of more pictures is not looked through; a case that hangs takes seconds.
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

}  // namespace

CasePictures picture_cases(const CiRunSummary& summary, Session& session) {
  CasePictures pictures;
  const auto findings = ci_findings(summary);
  const auto deadline = std::chrono::steady_clock::now() + kPictureTime;
  size_t missing = 0;
  for (size_t i = 0; i < findings.size(); ++i) {
    draw_progress(i, findings.size(), session);
    const ValidationResult& drawn = *findings[i].drawn;
    if (pictures.find(drawn.op_name, drawn.seed) != nullptr) continue;
    const bool is_over = pictures.cases.size() >= kPicturesMax || session.interrupted ||
                         std::chrono::steady_clock::now() > deadline;
    auto reply = is_over ? error(ErrorCode::Timeout, "")
                         : session.call(ReproduceRequest{
                               .seed = drawn.seed, .op_name = drawn.op_name, .details = true});
    auto* again = reply ? std::get_if<ReproduceResultReply>(&*reply) : nullptr;
    if (again == nullptr) {
      ++missing;
    } else {
      pictures.cases.push_back(std::move(*again));
    }
  }
  draw_progress(findings.size(), findings.size(), session);
  if (missing > 0) {
    pictures.note = fmt::format(
        "{} of {} findings have no error map: their cases could not be run again, or not within "
        "{} s and {} cases",
        missing, findings.size(), kPictureTime.count(), kPicturesMax);
  }
  return pictures;
}

}  // namespace gpuemu::cli
