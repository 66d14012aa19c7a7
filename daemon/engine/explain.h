// Explains a failing case: every output element is compared three ways, as the kernel computed it,
// as it would be without rounding, and as the reference says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/protocol/explain.h"
#include "daemon/engine/build_plan.h"
#include "daemon/validate/validate.h"

namespace gpuemu {

/// Shadow execution of a case, and the element whose history is wanted.
struct ShadowWish {
  bool wanted = false;
  std::string output;  ///< "": no history.
  int64_t element = 0;
  uint64_t block = 0;
};

enum class ShadowVerdict : uint8_t { Right, Logic, Numerical, Rounding, Unknown };
const char* name_of(ShadowVerdict verdict);  ///< "passes" for Right, else in lower case.

/// The wrong element that matters most in one output.
struct WrongElement {
  int64_t index = 0;
  double computed = 0, exact = 0, reference = 0, tolerance = 0, bound = 0;
  uint64_t block = 0;
  bool known = false;
  ShadowVerdict verdict = ShadowVerdict::Right;
};

struct ComparedShadow {
  ExplainedOutput counts;
  std::optional<WrongElement> worst;   ///< None when no element is wrong.
  std::optional<WrongElement> chosen;  ///< The element of the wish.
};

/// Gives the shadows of the outputs their place in the arena and makes the plan ask for them.
void plan_shadow(const ShadowWish& wish, BuiltPlan& built);

/// `shadows` has one per element. Of a wish for this output its element is looked at as well.
ComparedShadow compare_shadow(const Comparison& comparison, std::span<const ElementShadow> shadows,
                              const ShadowWish& wish);

/// The element's verdict now that its history is known: an overflow of finite values is one of the
/// arithmetic, whatever the exact value would be.
ShadowVerdict with_history(const WrongElement& element, const ExecutionShadow& history);

/// What happened and what to do.
std::vector<std::string> sentences_of(const WrongElement& element, const std::string& output,
                                      DType dtype, const ExecutionShadow& history);

ExplainedStep explained(const ShadowStep& step);

}  // namespace gpuemu
