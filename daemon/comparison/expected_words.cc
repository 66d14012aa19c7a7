#include "daemon/comparison/expected_words.h"

#include <cmath>
#include <string>

#include <fmt/core.h>

#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

/// Returns why the expected value differs from the reference's; null if it does not.
const char* reason_of(const ComparedOutput& compared) {
  if (compared.flushed) return "with zero for what is too small for the type";
  if (compared.nan_for_infinity) return "with the NaN that inf - inf may be";
  if (compared.masked) return "with other numbers for each NaN and infinity of the inputs";
  if (compared.infinity_for_nan) return "with the infinity that the inputs have";
  return nullptr;
}

/// The sign of a NaN has no meaning.
std::string text_of(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.9g}", value);
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

void explain_expected(const ComparedOutput& compared, std::vector<ValidationFailure>& failures) {
  const char* const reason = reason_of(compared);
  for (ValidationFailure& failure : failures) {
    if (compared.exact && failure.kind == FindingKind::ToleranceExceeded) {
      failure.message += "; all inputs are small whole numbers, so any order of adding is exact";
    }
    if (reason == nullptr || !failure.index || !failure.expected) continue;
    const double held = element(compared.reference, static_cast<size_t>(*failure.index));
    if (is_same(held, *failure.expected)) continue;
    failure.message += fmt::format("; the reference holds {} there, and {} {}", text_of(held),
                                   text_of(*failure.expected), reason);
  }
}

}  // namespace gpuemu
