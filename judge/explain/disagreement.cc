#include "judge/explain/disagreement.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "judge/explain/exact_comparison.h"

namespace gpuemu {
namespace {

bool agree(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  // An infinity lies within no bound, even one that is infinite itself.
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return a == b || std::fabs(a - b) <= tolerance;
}

/// A ballot with what every sentence about it needs.
class Count {
 public:
  explicit Count(const Ballot& ballot) : ballot_(ballot) {}

  std::vector<VoteSide> sides() const {
    std::vector<VoteSide> all = {{ballot_.backend, ballot_.computed}};
    if (ballot_.other) all.push_back({ballot_.other_backend, *ballot_.other});
    if (ballot_.exact) all.push_back({"exact", *ballot_.exact});
    all.insert(all.end(), ballot_.others.begin(), ballot_.others.end());
    all.push_back({"reference", ballot_.reference});
    return all;
  }

  bool backends_differ() const { return ballot_.other && !same(*ballot_.other, ballot_.computed); }
  bool other_is_right() const { return same(*ballot_.other, ballot_.reference); }
  bool exact_is_right() const { return ballot_.exact && same(*ballot_.exact, ballot_.reference); }
  bool exact_is_computed() const { return ballot_.exact && same(*ballot_.exact, ballot_.computed); }
  /// The first other kernel of the op that says the same as this; null: none.
  const VoteSide* kernel_with(double value) const {
    const auto found = std::ranges::find_if(
        ballot_.others, [&](const VoteSide& one) { return same(one.value, value); });
    return found == ballot_.others.end() ? nullptr : &*found;
  }
  /// "the kernel on cuda and on emulator", "the kernel"
  std::string kernel() const {
    return ballot_.other
               ? fmt::format("the kernel on {} and on {}", ballot_.backend, ballot_.other_backend)
               : "the kernel";
  }

  const Ballot& ballot() const { return ballot_; }

 private:
  bool same(double a, double b) const { return agree(a, b, ballot_.tolerance); }

  const Ballot& ballot_;
};

std::string values_text(const std::vector<VoteSide>& sides) {
  std::string text;
  for (const VoteSide& side : sides)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", side.name, number_text(side.value));
  return text;
}

Vote between_backends(const Count& count) {
  const Ballot& ballot = count.ballot();
  if (count.other_is_right()) {
    return {ballot.backend,
            fmt::format("only {} is wrong: the same kernel matches the reference on {}; compare "
                        "compiler flags and hardware",
                        ballot.backend, ballot.other_backend),
            {}};
  }
  if (count.exact_is_right()) {
    return {"none",
            fmt::format("{} and {} differ from each other and from the reference, which the kernel "
                        "gives without rounding: its arithmetic depends on the machine",
                        ballot.backend, ballot.other_backend),
            {}};
  }
  return {"none",
          fmt::format("{} and {} differ from each other and from the reference", ballot.backend,
                      ballot.other_backend),
          {}};
}

/// The kernel's formula against the reference's.
Vote between_formulas(const Count& count) {
  const Ballot& ballot = count.ballot();
  const std::string lead =
      fmt::format("disagrees with {}{}", count.kernel(),
                  count.exact_is_computed() ? ", whose value without rounding is the same" : "");
  if (const VoteSide* right = count.kernel_with(ballot.reference)) {
    return {"kernel",
            fmt::format("only the kernel is wrong: {} matches the reference", right->name),
            {}};
  }
  if (const VoteSide* same = count.kernel_with(ballot.computed)) {
    return {"reference",
            fmt::format("the reference {}, and with {}: suspect the reference", lead, same->name),
            {}};
  }
  if (!ballot.broken_by_reference.empty()) {
    return {"reference",
            fmt::format("the reference {}, and it violates {}, which the output keeps: the "
                        "reference is wrong",
                        lead, ballot.broken_by_reference),
            {}};
  }
  if (!ballot.broken_by_output.empty()) {
    return {"kernel",
            fmt::format("the reference {}, but the output violates {}, which the reference keeps: "
                        "the kernel is wrong",
                        lead, ballot.broken_by_output),
            {}};
  }
  return {"reference",
          fmt::format("the reference {}: two formulas differ, and the kernel's is wrong unless the "
                      "reference is",
                      lead),
          {}};
}

Vote vote_of(const Count& count) {
  if (count.backends_differ()) return between_backends(count);
  if (count.exact_is_right()) {
    return {"kernel",
            fmt::format("only {} is wrong: without rounding it matches the reference, so its "
                        "arithmetic is at fault",
                        count.kernel()),
            {}};
  }
  if (!count.ballot().exact || count.exact_is_computed()) return between_formulas(count);
  if (count.kernel_with(count.ballot().reference) != nullptr) return between_formulas(count);
  return {"none",
          "output, value without rounding and reference all differ: formula and arithmetic "
          "are both off",
          {}};
}

}  // namespace

std::optional<Vote> cast_vote(const Ballot& ballot) {
  const Count count(ballot);
  std::vector<VoteSide> sides = count.sides();
  constexpr size_t kSidesMin = 3;
  if (sides.size() < kSidesMin) return std::nullopt;
  Vote vote = vote_of(count);
  vote.sentence += fmt::format(" ({})", values_text(sides));
  vote.sides = std::move(sides);
  return vote;
}

}  // namespace gpuemu
