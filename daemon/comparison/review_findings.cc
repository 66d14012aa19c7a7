#include "daemon/comparison/review_findings.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "common/base/text.h"
#include "common/config/op_config.h"
#include "common/numeric/element.h"
#include "daemon/case/case_request.h"
#include "daemon/case/compared_values.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

/// The largest factor by which results lost to underflow are assumed to be amplified.
constexpr double kAmplifiedMost = 0x1p50;

struct Worst {
  const ExceedingElement* at = nullptr;
  double relative = 0;  ///< Error over the reference.
  double below = 0;     ///< The largest reference value of these elements.
  size_t count = 0;
};

double relative_error(const ExceedingElement& at) {
  const double error = std::fabs(at.computed - at.reference);
  return at.reference == 0 ? INFINITY : error / std::fabs(at.reference);
}

ValidationFailure warning_of(const std::string& output, const Worst& worst) {
  ValidationFailure warning{.kind = FindingKind::ToleranceExceeded, .output = output};
  const std::string relative =
      std::isfinite(worst.relative)
          ? fmt::format("a relative error up to {:.2g}", worst.relative)
          : fmt::format("an error up to {:.2g} of 0", std::fabs(worst.at->computed));
  warning.message = fmt::format(
      "'{}' loses accuracy: {} with {} where the result is up to {:.2g}; the defaults of "
      "torch.testing.assert_close, scaled by magnitude, accept that",
      output, counted(worst.count, "element"), relative, worst.below);
  warning.index = static_cast<int64_t>(worst.at->index);
  warning.expected = worst.at->reference;
  warning.actual = worst.at->computed;
  return warning;
}

/// Returns whether an element is a whole number, which no customary test judges.
bool has_whole(const Exceeding& exceeding) {
  return std::ranges::any_of(exceeding.elements, [](const ExceedingElement& at) {
    return at.customary == 0 && at.computed == std::nearbyint(at.computed);
  });
}

/// Appends `words` to the findings of outputs with exceeding elements.
void add_words(const std::string& words, const Exceeding& exceeding, CaseReport& report) {
  for (ValidationFailure& failure : report.result.failures) {
    if (exceeding.has_element_of(failure.output)) failure.message += "; " + words;
  }
}

}  // namespace

void explain_strictness(const Exceeding& exceeding, CaseReport& report) {
  add_words("judged by the bound alone, as `strict` demands", exceeding, report);
}

bool may_be_underflow(const ExceedingElement& at, const FloatFormat& format) {
  return std::fabs(at.computed - at.reference) <= kAmplifiedMost * format.min_subnormal;
}

void excuse(const std::vector<const ExceedingElement*>& warned, CaseReport& report) {
  report.result.failures.clear();
  report.result.passed = true;
  report.bound_ratio_max = std::min(report.bound_ratio_max, 1.0);
  std::map<std::string, Worst> outputs;
  for (const ExceedingElement* at : warned) {
    Worst& worst = outputs[at->output];
    ++worst.count;
    worst.below = std::max(worst.below, std::fabs(at->reference));
    const double relative = relative_error(*at);
    if (worst.at != nullptr && relative <= worst.relative) continue;
    worst.at = at;
    worst.relative = relative;
  }
  for (const auto& [output, worst] : outputs) {
    report.result.warnings.push_back(warning_of(output, worst));
  }
  if (!outputs.empty()) report.notes.insert(CaseNote::Customary);
}

void explain_inaccuracy(const CaseRequest& request, Looked looked, const Exceeding& exceeding,
                        CaseReport& report) {
  const char* judged =
      has_whole(exceeding) ? "inputs and results are whole numbers, which nothing rounds"
      : looked == Looked::NotAtAll
          ? "a customary test refuses it too; the case was not run without rounding (too large, or "
            "no emulator)"
          : "neither the precision of the inputs nor a customary test excuses it";
  const char* settings = request.op.accumulate
                             ? "an `error_scale`"
                             : "`accumulate` (how many terms are summed) with an `error_scale`";
  add_words(
      fmt::format("{}; {}, or a number under `tolerances`, would accept it", judged, settings),
      exceeding, report);
}

}  // namespace gpuemu
