// Finds elements that do not depend on the inputs' NaN and infinity although the reference says so.
// A reference that masks by multiplication, such as softmax(scores + mask) @ v or zero padding
// around an image, gives 0 * NaN = NaN where a kernel that skips masked elements gives a number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "judge/bounds/comparison.h"
#include "judge/bounds/conditioning.h"

namespace gpuemu {

struct OpConfig;

/// Draws per set of inputs: an element that is the same for this many different replacements of
/// each NaN and infinity does not depend on them. They are high, low, near 0, and random.
inline constexpr size_t kMaskedDraws = 4;

using DeclaredRanges = std::map<std::string, std::pair<double, double>>;
/// Returns the declared range of each input that has one.
DeclaredRanges declared_ranges(const OpConfig& op);

/// Returns the number of draws that replace each infinity with large numbers of its sign, so that
/// results that depend on it grow without limit. These draws come first; 0 if no input is infinite.
size_t limit_draws(const std::map<std::string, TensorView>& inputs);

/// Returns the number of reference runs needed: limit_draws(), plus kMaskedDraws with replacements
/// in all inputs, plus as many per input with replacements in that input alone, if several have NaN
/// or infinity. 0 if no input has any.
size_t masked_draws(const std::map<std::string, TensorView>& inputs);

/// Returns the inputs with NaN and infinity replaced by numbers in the declared ranges. Requires
/// `number` below masked_draws().
NamedTensors finite_inputs(const std::map<std::string, TensorView>& inputs,
                           const DeclaredRanges& ranges, DrawnFor drawn, size_t number);

/// Returns the inputs with each infinity replaced by numbers of its sign in the declared ranges;
/// NaN stays. Empty if no input is infinite.
NamedTensors numbers_for_infinity(const std::map<std::string, TensorView>& inputs,
                                  const DeclaredRanges& ranges, DrawnFor drawn);

/// Returns the elements whose verdict an answer to finite_inputs() may change: the reference has
/// NaN or infinity, and the kernel another value that is not NaN.
std::vector<size_t> masked_candidates(const Comparison& comparison);

/// Returns whether the answers so far for one set of inputs agree on one of the elements `of`.
/// False if an answer has another size or dtype.
bool may_be_masked(std::span<const TensorView> answers, std::span<const size_t> of);

/// Removes from `of` the elements that `answers`, all those for one set of inputs, decide.
void drop_decided(std::span<const TensorView> answers, std::vector<size_t>& of);

/// Returns the reference with the masked_candidates() replaced by the value on which all answers
/// for one set of inputs agree, or by infinity if all are large with one sign. `limits` are the
/// answers for limit_draws(), or empty: if they grow with the replacement of infinity, the kernel's
/// infinity is right, however small its weight. Absent if no element is decided, or an answer has
/// another shape or dtype.
std::optional<Tensor> masked_reference(const Comparison& comparison,
                                       std::span<const TensorView> answers,
                                       std::span<const TensorView> limits = {});

}  // namespace gpuemu
