// Elements that no NaN and no infinity of the inputs reaches, though the reference says so: what
// masks by a product, as softmax(scores + mask) @ v or zeros around an image do, has 0 * NaN = NaN
// where a kernel that leaves masked elements out has a number.
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

/// An element that is the same for so many different numbers in the place of each NaN and infinity
/// does not depend on them: high ones, low ones, some near 0, and far ones by chance.
inline constexpr size_t kMaskedDraws = 4;

using DeclaredRanges = std::map<std::string, std::pair<double, double>>;
/// The declared range of each input of the op that has one.
DeclaredRanges declared_ranges(const OpConfig& op);

/// The number of draws that replace each infinity with large numbers of its sign, so that results
/// which depend on it grow without limit. These draws come first; 0 when no input is infinite.
size_t limit_draws(const std::map<std::string, TensorView>& inputs);

/// How many answers of the reference tell what is masked: kMaskedDraws with numbers in all inputs,
/// and, where several inputs have NaN or infinity, as many with numbers in each of them alone,
/// beside limit_draws(). 0 when no input has NaN or infinity.
size_t masked_draws(const std::map<std::string, TensorView>& inputs);

/// The inputs with numbers in the place of NaN and infinity, within the declared ranges. `number`
/// is below masked_draws().
NamedTensors finite_inputs(const std::map<std::string, TensorView>& inputs,
                           const DeclaredRanges& ranges, DrawnFor drawn, size_t number);

/// The inputs with numbers of its sign in the place of each infinity, within the declared ranges;
/// NaN stays. Empty when no input is infinite.
NamedTensors numbers_for_infinity(const std::map<std::string, TensorView>& inputs,
                                  const DeclaredRanges& ranges, DrawnFor drawn);

/// The elements that an answer to finite_inputs() may change the verdict of: the reference has NaN
/// or infinity there, the kernel has another value that is not NaN.
std::vector<size_t> masked_candidates(const Comparison& comparison);

/// Whether the answers to one set of inputs say the same, as far as they go, of one of the
/// elements `of`. False where an answer has another size or dtype.
bool may_be_masked(std::span<const TensorView> answers, std::span<const size_t> of);

/// Takes the elements out of `of` that `answers`, all those to one set of inputs, tell.
void drop_told(std::span<const TensorView> answers, std::vector<size_t>& of);

/// The reference with what `answers`, its answers to finite_inputs() of each number, say of the
/// masked_candidates(), where all of one set of inputs say the same: infinity where all are large,
/// of one sign. `limits` are those of limit_draws(), or none: where they grow with what stands for
/// infinity, the kernel's infinity is right, however little of it counts. Absent where no element
/// is told, or an answer has another shape or dtype.
std::optional<Tensor> masked_reference(const Comparison& comparison,
                                       std::span<const TensorView> answers,
                                       std::span<const TensorView> limits = {});

}  // namespace gpuemu
