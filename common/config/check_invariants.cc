// Checks the names in invariants and relations: inputs, outputs, dims, axes, other ops.
#include <algorithm>

#include <fmt/format.h>

#include "common/config/names.h"
#include "common/config/readers.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

std::vector<std::string> tensor_names(const std::vector<TensorSpec>& tensors) {
  std::vector<std::string> names;
  for (const TensorSpec& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> op_names(const Config& config) {
  std::vector<std::string> names;
  for (const OpConfig& op : config.ops) names.push_back(op.name);
  return names;
}

const std::string* find_text(const InvariantSpec& spec, const char* name) {
  const auto found = spec.strings.find(name);
  return found == spec.strings.end() ? nullptr : &found->second;
}

/// A spec, with the place at which its problems are reported.
class SpecChecker {
 public:
  SpecChecker(ReadState& state, const OpConfig& op, const InvariantSpec& spec, std::string key)
      : state_(state), op_(op), spec_(spec), key_(std::move(key)) {}

  void check_one_of(const char* parameter, const char* what,
                    const std::vector<std::string>& known) {
    const std::string* name = find_text(spec_, parameter);
    if (name == nullptr || std::ranges::find(known, *name) != known.end()) return;
    problem(parameter, fmt::format("no {} is called '{}', {}{}", what, *name, known_or_none(known),
                                   did_you_mean(*name, known)));
  }

  void check_axis_of(const char* what, const TensorSpec& tensor) {
    const auto axis = spec_.numbers.find("axis");
    if (axis == spec_.numbers.end() || reported_) return;
    const auto rank = static_cast<int64_t>(tensor.shape.size());
    const auto wanted = static_cast<int64_t>(axis->second);
    if (wanted >= -rank && wanted < rank) return;
    reported_ = true;
    problem("axis", fmt::format("{} '{}' has {} axes, so axis {} does not exist", what, tensor.name,
                                rank, wanted));
  }

  void check_expressions(const std::vector<std::string>& known) {
    for (const char* parameter : {"grid", "block", "shared"}) {
      const std::string* text = find_text(spec_, parameter);
      if (text == nullptr) continue;
      const auto expression = Expression::parse(*text);
      if (!expression) continue;  // Reported when it was parsed.
      for (const std::string& name : expression->names()) {
        if (std::ranges::find(known, name) != known.end()) continue;
        problem(parameter, fmt::format("unknown name '{}' (op '{}'), {}{}", name, op_.name,
                                       known_or_none(known), did_you_mean(name, known)));
      }
    }
  }

 private:
  void problem(const char* parameter, const std::string& message) {
    state_.problem_at(key_ + "." + parameter, message);
  }

  ReadState& state_;
  const OpConfig& op_;
  const InvariantSpec& spec_;
  std::string key_;
  bool reported_ = false;
};

/// Returns whether the axis of the relation or invariant is one of the input rather than the
/// output.
bool axis_is_of_input(InvariantKind kind) {
  constexpr InvariantKind kOfInput[] = {
      InvariantKind::ShiftInvariant, InvariantKind::PermutationInvariant,
      InvariantKind::PadInvariant, InvariantKind::Additive, InvariantKind::ConvexHull};
  return std::ranges::find(kOfInput, kind) != std::end(kOfInput);
}

/// Two keys say whether runs must agree bit for bit; they must not contradict each other.
void check_determinism(ReadState& state, const OpConfig& op, const InvariantSpec& spec,
                       const std::string& key) {
  if (spec.kind != InvariantKind::Deterministic) return;
  const auto tolerance = spec.numbers.find("tolerance");
  const bool bitwise = tolerance == spec.numbers.end() || tolerance->second == 0;
  if (bitwise && !op.deterministic) {
    state.problem_at(key, fmt::format("op '{}' has deterministic = false: its runs may differ, so "
                                      "expected {{ tolerance = ... }}, how much they may",
                                      op.name));
  }
  if (!bitwise && op.deterministic) {
    state.problem_at(key, fmt::format("runs of op '{}' must agree bit for bit, so a tolerance says "
                                      "nothing; expected deterministic = false beside it",
                                      op.name));
  }
}

/// Consecutive copies of the tensors are a longer dim only if it is the first axis.
void check_huge(ReadState& state, const OpConfig& op, const InvariantSpec& spec,
                const std::string& key) {
  const std::string* dim = spec.kind == InvariantKind::Huge ? find_text(spec, "dim") : nullptr;
  if (dim == nullptr || std::ranges::find(op.dims, *dim, &DimSpec::name) == op.dims.end()) return;
  const auto leads = [&](const TensorSpec& tensor) {
    return !tensor.inout && !tensor.shape.empty() && tensor.shape.front().text() == *dim;
  };
  const auto other = std::ranges::find_if_not(op.outputs, leads);
  if (other == op.outputs.end()) return;
  state.problem_at(
      key + ".dim",
      fmt::format("{} '{}' is not written like [\"{}\", ...]: expected a dim that is "
                  "the first axis of every output, none of which is inout",
                  other->inout ? "inout output" : "the shape of output", other->name, *dim));
}

void check_axis(SpecChecker& checker, const OpConfig& op, const InvariantSpec& spec) {
  const std::string* input = find_text(spec, "input");
  if (axis_is_of_input(spec.kind)) {
    for (const TensorSpec& tensor : op.inputs) {
      if (input == nullptr ? &tensor == &op.inputs.front() : tensor.name == *input) {
        checker.check_axis_of("input", tensor);
      }
    }
  } else if (is_relation(spec.kind)) {
    checker.check_axis_of("output", op.outputs.front());
  } else {
    for (const TensorSpec& output : op.outputs) checker.check_axis_of("output", output);
  }
}

}  // namespace

void check_invariants(ReadState& state, const Config& config, const OpConfig& op,
                      const std::vector<InvariantSpec>& invariants, const std::string& path) {
  if (op.outputs.empty()) return;
  std::vector<std::string> dims;
  for (const DimSpec& dim : op.dims) dims.push_back(dim.name);
  std::ranges::sort(dims);
  std::vector<std::string> integers = dims;
  for (const AttrSpec& attr : op.attrs) {
    if (!is_float(attr.dtype)) integers.push_back(attr.name);
  }
  for (const InvariantSpec& spec : invariants) {
    const std::string key = fmt::format("{}.invariants.{}", path, name_of(spec.kind));
    if (is_relation(spec.kind) && op.mode != ExecutionMode::Kernel) {
      state.problem_at(key, "a relation runs the kernel on other inputs, so the op needs a kernel");
    }
    SpecChecker checker(state, op, spec, key);
    checker.check_one_of("input", "input", tensor_names(op.inputs));
    checker.check_one_of("output", "output", tensor_names(op.outputs));
    checker.check_one_of("dim", "dim", dims);
    check_huge(state, op, spec, key);
    if (spec.strings.contains("op")) checker.check_one_of("op", "op", op_names(config));
    checker.check_expressions(integers);
    check_axis(checker, op, spec);
    check_determinism(state, op, spec, key);
  }
}

}  // namespace gpuemu
