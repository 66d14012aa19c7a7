#include "judge/explain/disagreement.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "judge/explain/exact_comparison.h"

namespace gpuemu {
namespace {

bool agree(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  // An infinity is within no bound, even an infinite one.
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return a == b || std::fabs(a - b) <= tolerance;
}

/// A disputed element, with the parts of every sentence about it.
class Count {
 public:
  explicit Count(const DisputedElement& disputed) : disputed_(disputed) {}

  std::vector<DisagreementSide> sides() const {
    std::vector<DisagreementSide> all = {{disputed_.backend, disputed_.computed}};
    if (disputed_.other) all.push_back({disputed_.other_backend, *disputed_.other});
    if (disputed_.exact) all.push_back({"exact", *disputed_.exact});
    all.insert(all.end(), disputed_.others.begin(), disputed_.others.end());
    all.push_back({"reference", disputed_.reference});
    return all;
  }

  bool backends_differ() const {
    return disputed_.other && !same(*disputed_.other, disputed_.computed);
  }
  bool other_is_right() const { return same(*disputed_.other, disputed_.reference); }
  bool exact_is_right() const {
    return disputed_.exact && same(*disputed_.exact, disputed_.reference);
  }
  bool exact_is_computed() const {
    return disputed_.exact && same(*disputed_.exact, disputed_.computed);
  }
  /// Returns the first other kernel of the op that agrees with this value; null if none does.
  const DisagreementSide* kernel_with(double value) const {
    const auto found = std::ranges::find_if(
        disputed_.others, [&](const DisagreementSide& one) { return same(one.value, value); });
    return found == disputed_.others.end() ? nullptr : &*found;
  }
  /// Returns "the kernel on cuda and on emulator" or "the kernel".
  std::string kernel() const {
    return disputed_.other ? fmt::format("the kernel on {} and on {}", disputed_.backend,
                                         disputed_.other_backend)
                           : "the kernel";
  }

  const DisputedElement& disputed() const { return disputed_; }

 private:
  bool same(double a, double b) const { return agree(a, b, disputed_.tolerance); }

  const DisputedElement& disputed_;
};

std::string values_text(const std::vector<DisagreementSide>& sides) {
  std::string text;
  for (const DisagreementSide& side : sides) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", side.name, number_text(side.value));
  }
  return text;
}

Disagreement between_backends(const Count& count) {
  const DisputedElement& disputed = count.disputed();
  if (count.other_is_right()) {
    return {disputed.backend,
            fmt::format("only {} is wrong: the same kernel matches the reference on {}; compare "
                        "compiler flags and hardware",
                        disputed.backend, disputed.other_backend),
            {}};
  }
  if (count.exact_is_right()) {
    return {"none",
            fmt::format("{} and {} differ from each other and from the reference, which the kernel "
                        "gives without rounding: its arithmetic depends on the machine",
                        disputed.backend, disputed.other_backend),
            {}};
  }
  return {"none",
          fmt::format("{} and {} differ from each other and from the reference", disputed.backend,
                      disputed.other_backend),
          {}};
}

/// Compares the kernel's formula with the reference's.
Disagreement between_formulas(const Count& count) {
  const DisputedElement& disputed = count.disputed();
  const std::string lead =
      fmt::format("disagrees with {}{}", count.kernel(),
                  count.exact_is_computed() ? ", whose value without rounding is the same" : "");
  if (const DisagreementSide* right = count.kernel_with(disputed.reference)) {
    return {"kernel",
            fmt::format("only the kernel is wrong: {} matches the reference", right->name),
            {}};
  }
  if (const DisagreementSide* same = count.kernel_with(disputed.computed)) {
    return {"reference",
            fmt::format("the reference {}, and with {}: suspect the reference", lead, same->name),
            {}};
  }
  if (!disputed.broken_by_reference.empty()) {
    return {"reference",
            fmt::format("the reference {}, and it violates {}, which the output keeps: the "
                        "reference is wrong",
                        lead, disputed.broken_by_reference),
            {}};
  }
  if (!disputed.broken_by_output.empty()) {
    return {"kernel",
            fmt::format("the reference {}, but the output violates {}, which the reference keeps: "
                        "the kernel is wrong",
                        lead, disputed.broken_by_output),
            {}};
  }
  return {"reference",
          fmt::format("the reference {}: two formulas differ, and the kernel's is wrong unless the "
                      "reference is",
                      lead),
          {}};
}

Disagreement disagreement_of(const Count& count) {
  if (count.backends_differ()) return between_backends(count);
  if (count.exact_is_right()) {
    return {"kernel",
            fmt::format("only {} is wrong: without rounding it matches the reference, so its "
                        "arithmetic is at fault",
                        count.kernel()),
            {}};
  }
  if (!count.disputed().exact || count.exact_is_computed()) return between_formulas(count);
  if (count.kernel_with(count.disputed().reference) != nullptr) return between_formulas(count);
  return {"none",
          "output, value without rounding and reference all differ: formula and arithmetic "
          "are both off",
          {}};
}

}  // namespace

std::optional<Disagreement> find_dissenter(const DisputedElement& disputed) {
  const Count count(disputed);
  std::vector<DisagreementSide> sides = count.sides();
  constexpr size_t kSidesMin = 3;
  if (sides.size() < kSidesMin) return std::nullopt;
  Disagreement disagreement = disagreement_of(count);
  disagreement.sentence += fmt::format(" ({})", values_text(sides));
  disagreement.sides = std::move(sides);
  return disagreement;
}

}  // namespace gpuemu
