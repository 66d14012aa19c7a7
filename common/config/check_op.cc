// Checks the names that an op's tensors, dims, attrs, expressions and kernel arguments use.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "common/base/service_limits.h"
#include "common/config/expression_node.h"
#include "common/config/initial_value.h"
#include "common/config/op_sizes.h"
#include "common/config/readers.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

std::string joined(const std::set<std::string>& names) {
  return known_or_none({names.begin(), names.end()});
}

/// Suggests what an unknown name in an expression may have meant.
std::string instead_of(const std::string& name, const std::set<std::string>& known) {
  if (dtype_from_alias(name)) return fmt::format("; text needs single quotes: '{}'", name);
  const std::string near = did_you_mean(name, {known.begin(), known.end()});
  return (near.empty() ? ";" : near) +
         (known.empty() ? fmt::format(" none is defined; write dims = {{ {} = [1, 300] }}", name)
                        : fmt::format(" defined: {}", fmt::join(known, ", ")));
}

std::string hint(const std::string& name, const std::set<std::string>& known) {
  return did_you_mean(name, {known.begin(), known.end()});
}

/// The names that expressions of one op may use.
struct Names {
  std::set<std::string> integers, reals, tensors;
};

class OpChecker {
 public:
  OpChecker(ReadState& state, const OpConfig& op, const OpDraft& draft)
      : state_(state), op_(op), draft_(draft) {
    for (const DimSpec& dim : op.dims) names_.integers.insert(dim.name);
    for (const DerivedDim& dim : op.derived_dims) names_.integers.insert(dim.name);
    add_refused_dims();
    for (const AttrSpec& attr : op.attrs) {
      (is_float(attr.dtype) ? names_.reals : names_.integers).insert(attr.name);
    }
  }

  void check_data() {
    for (const AttrSpec& attr : op_.attrs) {
      const auto has_name = [&](const auto& dim) { return dim.name == attr.name; };
      const bool twice = std::ranges::any_of(op_.dims, has_name) ||
                         std::ranges::any_of(op_.derived_dims, has_name);
      if (twice) problem(".attrs." + attr.name, "'" + attr.name + "' is a dim already");
    }
    check_derived_dims();
    check_requirement();
    check_tensor_names();
    check_input_names();
    std::set<std::string> before;
    for (size_t i = 0; i < op_.inputs.size(); ++i) {
      check_shape({"inputs", i, op_.inputs[i]}, before);
      check_range({"inputs", i, op_.inputs[i]}, before);
      before.insert(op_.inputs[i].name);
    }
    for (size_t i = 0; i < op_.outputs.size(); ++i) {
      check_shape({"outputs", i, op_.outputs[i]}, before);
      check_range({"outputs", i, op_.outputs[i]}, before);
      check_init(data_key(fmt::format(".outputs[{}].init", i)), op_.outputs[i]);
      before.insert(op_.outputs[i].name);
    }
    check_scales();
    if (op_.accumulate) check_length(data_key(".accumulate"), *op_.accumulate);
    if (op_.mode == ExecutionMode::Kernel && op_.outputs.empty()) {
      state_.problem_at(draft_.path + ".outputs",
                        "missing, an op with a kernel needs at least one output such as "
                        "{ name = \"y\", shape = [\"n\"] }");
    }
  }

  /// A tensor and its position: its key is, for example, "ops[0].inputs[1]".
  struct Listed {
    const char* list;
    size_t index;
    const TensorSpec& tensor;
  };

  void check_derived_dims() {
    for (const DerivedDim& dim : op_.derived_dims) {
      const std::string key = data_key(".dims." + dim.name);
      const size_t problems = state_.problems.size();
      for (const ExpressionUse& use : dim.value.tensor_uses()) {
        in_text(key, dim.value, use.column, 0,
                "tensors have their sizes from dims; write what '" + use.name + "' is made of");
      }
      if (state_.problems.size() == problems) check_integer(key, dim.value, 0);
      if (state_.problems.size() == problems) check_corners(key, dim.value);
    }
  }

  void check_requirement() {
    if (!op_.require) return;
    const std::string key = data_key(".require");
    const size_t problems = state_.problems.size();
    for (const ExpressionUse& use : op_.require->tensor_uses()) {
      in_text(key, *op_.require, use.column, 0,
              "tensors have their sizes from dims; write what '" + use.name + "' is made of");
    }
    if (state_.problems.size() == problems) check_integer(key, *op_.require, 0);
    if (state_.problems.size() == problems && refused_.empty() && never_holds(op_)) {
      report(key, "no sizes in dims satisfy it; give dims other sizes, or write another condition");
    }
  }

  /// Checks the ends of a range that depend on sizes.
  void check_range(const Listed& at, const std::set<std::string>& before) {
    const std::optional<Expression>* ends[] = {&at.tensor.range_low, &at.tensor.range_high};
    for (size_t i = 0; i < 2; ++i) {
      if (!*ends[i]) continue;
      const std::string key = data_key(fmt::format(".{}[{}].range[{}]", at.list, at.index, i));
      check_integer(key, **ends[i], 0);
      for (const ExpressionUse& use : (*ends[i])->tensor_uses()) {
        if (before.contains(use.name) || !names_.tensors.contains(use.name)) continue;
        in_text(
            key, **ends[i], use.column, 0,
            fmt::format("the range of '{}' needs '{}', which is listed behind it; list '{}' first",
                        at.tensor.name, use.name, use.name));
      }
    }
  }

  /// Checks that the number fits every dtype under test, and that names exist.
  void check_init(const std::string& key, const TensorSpec& tensor) {
    if (!tensor.init) return;
    if (!tensor.init->real) {
      const Expression& value = tensor.init->value;
      check_integer(key, value, 0);
      if (!value.names().empty() || !value.tensor_uses().empty() || value.fraction_column()) return;
    }
    if (const Status held = check_initial_number(tensor, op_.dtypes); !held) {
      report(key, held.error().message);
    }
  }

  void check_scales() {
    std::vector<std::string> outputs;
    for (const TensorSpec& output : op_.outputs) outputs.push_back(output.name);
    for (const auto& [name, scale] : op_.error_scales) {
      if (std::ranges::find(outputs, name) != outputs.end()) continue;
      state_.problem_at(data_key(".error_scale." + name),
                        fmt::format("no output is called '{}'; there are {}{}", name,
                                    fmt::join(outputs, ", "), did_you_mean(name, outputs)));
    }
  }

  void check_kernel(const KernelConfig& kernel, const std::string& path) {
    const std::set<std::string> before = names_.tensors;
    for (size_t i = 0; i < kernel.scratch.size(); ++i) {
      const TensorSpec& tensor = kernel.scratch[i];
      const std::string key = fmt::format("{}.scratch[{}]", path, i);
      if (!names_.tensors.insert(tensor.name).second) {
        report(key + ".name", "'" + tensor.name + "' is already a tensor of op '" + op_.name + "'");
      }
      for (size_t d = 0; d < tensor.shape.size(); ++d) {
        check_integer(fmt::format("{}.shape[{}]", key, d), tensor.shape[d], 0);
      }
      check_init(key + ".init", tensor);
    }
    if (kernel.supports) check_integer(path + ".supports", *kernel.supports, 0);
    for (const SymbolSpec& symbol : kernel.symbols) {
      check_symbol(symbol, path + ".symbols." + symbol.name);
    }
    for (size_t i = 0; i < kernel.launches.size(); ++i) {
      check_launch(kernel.launches[i], fmt::format("{}.launches[{}]", path, i));
    }
    names_.tensors = before;
  }

 private:
  // An invalid dim was already reported; expressions that use it are not reported again.
  void add_refused_dims() {
    for (const std::string& path : {draft_.path, draft_.data_path}) {
      const std::string prefix = path + ".dims.";
      for (auto at = state_.places.lower_bound(prefix);
           at != state_.places.end() && at->first.starts_with(prefix); ++at) {
        const std::string name = at->first.substr(prefix.size());
        const std::string dim = name.substr(0, name.find_first_of(".["));
        if (names_.integers.insert(dim).second) refused_.insert(dim);
      }
    }
  }

  std::string data_key(const std::string& rest) const {
    // Keys that the op does not set itself come from its kernel's table.
    const std::string own = draft_.path + rest;
    return state_.places.contains(own) ? own : draft_.data_path + rest;
  }
  void problem(const std::string& rest, const std::string& message) {
    report(data_key(rest), message);
  }
  void report(const std::string& key, const std::string& message) {
    state_.problem_at(key, message);
  }

  void check_tensor_names() {
    std::set<std::string> inputs;
    for (size_t i = 0; i < op_.inputs.size(); ++i) {
      const std::string& name = op_.inputs[i].name;
      if (!name.empty() && !inputs.insert(name).second) {
        problem(fmt::format(".inputs[{}].name", i), "'" + name + "' is an input already");
      }
    }
    names_.tensors = inputs;
    std::set<std::string> outputs;
    for (size_t i = 0; i < op_.outputs.size(); ++i) check_output(i, inputs, outputs);
    names_.tensors.insert(outputs.begin(), outputs.end());
  }

  void check_output(size_t i, const std::set<std::string>& inputs, std::set<std::string>& outputs) {
    const TensorSpec& output = op_.outputs[i];
    const std::string key = fmt::format(".outputs[{}].name", i);
    if (output.name.empty()) return;
    if (!outputs.insert(output.name).second) {
      problem(key, "'" + output.name + "' is an output already");
    }
    if (output.inout && !inputs.contains(output.name)) {
      problem(key, "'" + output.name + "' is inout, but no input has that name, " + joined(inputs) +
                       hint(output.name, inputs));
    }
    if (!output.inout && inputs.contains(output.name)) {
      problem(key,
              "'" + output.name + "' is an input too; write inout = true if the kernel updates it");
    }
  }

  // `before`: the tensors whose sizes are known when this one's are computed.
  void check_shape(const Listed& at, const std::set<std::string>& before) {
    for (size_t d = 0; d < at.tensor.shape.size(); ++d) {
      const std::string rest = fmt::format(".{}[{}].shape[{}]", at.list, at.index, d);
      // The sizes of an inout output may be those of its input, where they were reported.
      const std::string key = data_key(rest);
      if (!state_.places.contains(key)) continue;
      const size_t problems = state_.problems.size();
      check_integer(key, at.tensor.shape[d], 0);
      check_order(key, at.tensor, at.tensor.shape[d], before);
      if (state_.problems.size() == problems) check_corners(key, at.tensor.shape[d]);
    }
  }

  void check_order(const std::string& key, const TensorSpec& tensor, const Expression& size,
                   const std::set<std::string>& before) {
    for (const ExpressionUse& use : size.tensor_uses()) {
      if (before.contains(use.name) || !names_.tensors.contains(use.name)) continue;
      const std::set<std::string> needed = tensors_behind(op_, use.name);
      std::string message =
          needed.contains(tensor.name)
              ? fmt::format("a cycle: the shape of '{}' needs '{}', whose shape needs '{}'",
                            tensor.name, use.name, tensor.name)
              : fmt::format(
                    "the shape of '{}' needs '{}', which is listed behind it; list '{}' "
                    "first",
                    tensor.name, use.name, use.name);
      if (use.name == tensor.name) {
        message = "a cycle: the shape of '" + use.name + "' needs itself";
      }
      in_text(key, size, use.column, 0, message);
    }
  }

  void check_input_names() {
    if (op_.inputs.empty() || !state_.places.contains(draft_.path + ".input_names")) return;
    std::set<std::string> inputs;
    for (const TensorSpec& input : op_.inputs) inputs.insert(input.name);
    for (size_t i = 0; i < op_.input_names.size(); ++i) {
      const std::string& name = op_.input_names[i];
      if (inputs.contains(name)) continue;
      problem(fmt::format(".input_names[{}]", i),
              "no input is called '" + name + "', " + joined(inputs) + hint(name, inputs));
    }
  }

  // Reports a size only if no corner gives a legal value: all dims at their smallest or largest, or
  // all but one.
  void check_corners(const std::string& key, const Expression& size) {
    if (!size.tensor_uses().empty()) return;
    const auto is_refused = [&](const ExpressionUse& use) { return refused_.contains(use.name); };
    if (std::ranges::any_of(size.name_uses(), is_refused)) return;
    std::string first;
    for (const bool high : {false, true}) {
      const std::string failure = failure_at(size, scope_at_end(op_, high));
      if (failure.empty()) return;
      if (first.empty()) first = failure;
      for (const DimSpec& dim : op_.dims) {
        if (failure_at(size, scope_at_end(op_, high, &dim)).empty()) return;
      }
    }
    report(key, first);
  }

  // A length that is invalid for both the smallest and the largest dims is certainly wrong.
  void check_length(const std::string& key, const Expression& length) {
    const size_t problems = state_.problems.size();
    check_integer(key, length, 0);
    const auto is_refused = [&](const ExpressionUse& use) { return refused_.contains(use.name); };
    if (state_.problems.size() != problems || !length.tensor_uses().empty() ||
        std::ranges::any_of(length.name_uses(), is_refused)) {
      return;
    }
    const auto low = length.evaluate(scope_at_end(op_, false)),
               high = length.evaluate(scope_at_end(op_, true));
    if (!low || !high) {
      if (!low && !high) report(key, low.error().message);
      return;
    }
    if (std::max(*low, *high) >= 1 && std::min(*low, *high) <= kAccumulateMax) return;
    report(key, fmt::format("a sum of {} terms (op '{}'), expected a length from 1 to {}", *high,
                            op_.name, kAccumulateMax));
  }

  static std::string failure_at(const Expression& size, const Scope& scope) {
    const auto value = size.evaluate_size(scope);
    return value ? "" : value.error().message;
  }

  // `skip`: characters of a prefix such as "i32:" before the expression.
  void check_integer(const std::string& key, const Expression& expression, uint32_t skip) {
    if (const auto column = expression.fraction_column()) {
      in_text(key, expression, *column, skip,
              "a fraction is legal only as a whole f32: or f64: argument");
    }
    for (const ExpressionUse& use : expression.name_uses()) {
      if (names_.integers.contains(use.name)) continue;
      if (names_.reals.contains(use.name)) {
        in_text(key, expression, use.column, skip,
                "the real attr '" + use.name + "' is legal only as a whole f32: or f64: argument");
        continue;
      }
      in_text(key, expression, use.column, skip,
              fmt::format("op '{}': unknown name '{}'{}", op_.name, use.name,
                          instead_of(use.name, names_.integers)));
    }
    for (const ExpressionUse& use : expression.tensor_uses()) {
      if (names_.tensors.contains(use.name)) continue;
      in_text(key, expression, use.column, skip,
              fmt::format("unknown tensor '{}' (op '{}'), {}{}", use.name, op_.name,
                          joined(names_.tensors), hint(use.name, names_.tensors)));
    }
    check_strides(key, expression, skip);
  }

  void check_strides(const std::string& key, const Expression& expression, uint32_t skip) {
    for (const StrideUse& use : expression.stride_uses()) {
      const TensorSpec* tensor = find_tensor(use.tensor);
      if (tensor == nullptr || !use.axis) continue;
      const auto rank = static_cast<int64_t>(tensor->shape.size());
      if (*use.axis >= -rank && *use.axis < rank) continue;
      in_text(
          key, expression, use.column, skip,
          fmt::format("'{}' has {} axes, so axis {} does not exist", use.tensor, rank, *use.axis));
    }
  }

  const TensorSpec* find_tensor(const std::string& name) const {
    for (const auto* tensors : {&op_.inputs, &op_.outputs}) {
      const auto found = std::ranges::find(*tensors, name, &TensorSpec::name);
      if (found != tensors->end()) return &*found;
    }
    return nullptr;
  }

  void check_real(const std::string& key, const Expression& expression, uint32_t skip) {
    if (!expression.is_whole_real()) return check_integer(key, expression, skip);
    for (const ExpressionUse& use : expression.name_uses()) {
      if (names_.integers.contains(use.name) || names_.reals.contains(use.name)) continue;
      std::set<std::string> known = names_.integers;
      known.insert(names_.reals.begin(), names_.reals.end());
      in_text(key, expression, use.column, skip,
              fmt::format("op '{}': unknown name '{}'{}", op_.name, use.name,
                          instead_of(use.name, known)));
    }
  }

  void in_text(const std::string& key, const Expression& expression, uint32_t column, uint32_t skip,
               const std::string& message) {
    state_.problem_in_text(key, column + skip,
                           expression_error(expression.text(), column, message).message);
  }

  void check_launch(const LaunchSpec& launch, const std::string& path) {
    const auto check_extent = [&](const char* name, const std::vector<Expression>& extent) {
      for (size_t i = 0; i < extent.size(); ++i) {
        std::string key = fmt::format("{}.{}[{}]", path, name, i);
        if (!state_.places.contains(key)) key = path + "." + name;
        check_integer(key, extent[i], 0);
        check_constant(key, name, extent[i]);
      }
    };
    check_extent("grid", launch.grid);
    check_extent("block", launch.block);
    check_threads(launch.block, path + ".block");
    check_extent("cluster", launch.cluster);
    if (launch.shared) check_integer(path + ".shared", *launch.shared, 0);
    for (size_t i = 0; i < launch.args.size(); ++i) {
      check_arg(launch.args[i], fmt::format("{}.args[{}]", path, i));
    }
  }

  /// Returns the value of an expression without names.
  static std::optional<int64_t> constant(const Expression& expression) {
    const bool named = !expression.name_uses().empty() || !expression.tensor_uses().empty() ||
                       !expression.stride_uses().empty();
    if (named || expression.fraction_column()) return std::nullopt;
    const auto value = expression.evaluate(Scope{});
    return value ? std::optional(*value) : std::nullopt;
  }

  void check_constant(const std::string& key, const char* name, const Expression& size) {
    const auto value = constant(size);
    if (!value || *value >= 1) return;
    report(key, fmt::format("a {} of {}, expected at least 1", name, *value));
  }

  void check_threads(const std::vector<Expression>& block, const std::string& key) {
    constexpr int64_t kThreadsMax = 1024;  // Threads per block on every device.
    int64_t threads = 1;
    for (const Expression& size : block) {
      const auto value = constant(size);
      if (!value || *value < 1 || *value > INT32_MAX) return;
      threads *= *value;
      if (threads > INT32_MAX) break;
    }
    if (threads <= kThreadsMax) return;
    report(key, fmt::format("{} threads, but a block has at most {}", threads, kThreadsMax));
  }

  void check_symbol(const SymbolSpec& symbol, const std::string& key) {
    const LaunchSpec::Arg& value = symbol.value;
    std::set<std::string> inputs;
    for (const TensorSpec& input : op_.inputs) inputs.insert(input.name);
    if (value.kind != LaunchSpec::Arg::Kind::Tensor) return check_arg(value, key);
    if (!value.value && inputs.contains(value.tensor)) return;
    report(key, fmt::format("'{}' is not an input of op '{}', expected one of them, whose elements "
                            "the variable gets, or a number such as f32:0.5; {}{}",
                            value.text, op_.name, joined(inputs), hint(value.tensor, inputs)));
  }

  void check_arg(const LaunchSpec::Arg& arg, const std::string& key) {
    using Kind = LaunchSpec::Arg::Kind;
    if (arg.text.empty() || arg.kind == Kind::NullPointer) return;
    for (size_t i = 0; i < arg.members.size(); ++i) {
      check_arg(arg.members[i], fmt::format("{}[{}]", key, i));
    }
    if (arg.kind == Kind::Struct) return;
    if (arg.kind == Kind::Number) {
      const auto prefix = static_cast<uint32_t>(arg.text.find(':') + 1);
      return is_float(arg.dtype) ? check_real(key, *arg.value, prefix)
                                 : check_integer(key, *arg.value, prefix);
    }
    if (arg.value) check_integer(key, *arg.value, static_cast<uint32_t>(arg.text.find('+') + 1));
    if (names_.tensors.contains(arg.tensor)) return;
    std::string message = fmt::format("unknown tensor '{}' (op '{}'), {}", arg.tensor, op_.name,
                                      joined(names_.tensors));
    if (names_.integers.contains(arg.tensor)) {
      message += "; a scalar needs its type, such as i32:" + arg.tensor;
    } else if (names_.reals.contains(arg.tensor)) {
      message += "; a scalar needs its type, such as f32:" + arg.tensor;
    } else if (arg.tensor == "null" || arg.tensor == "nullptr" || arg.tensor == "NULL") {
      message += "; a null pointer is ptr:null";
    } else {
      message += hint(arg.tensor, names_.tensors);
    }
    report(key, message);
  }

  ReadState& state_;
  const OpConfig& op_;
  const OpDraft& draft_;
  Names names_;
  std::set<std::string> refused_;  ///< Dims without values.
};

}  // namespace

void check_op_names(ReadState& state, const Config& config, const OpConfig& op,
                    const OpDraft& draft, const Drafts& drafts) {
  OpChecker checker(state, op, draft);
  checker.check_data();
  check_invariants(state, config, op, op.invariants, draft.path);
  if (op.outputs.empty()) return;  // Already reported; all names in the kernel would be unknown.
  for (const size_t i : state.kernels_called(op.kernels)) {
    const KernelConfig& kernel = config.kernels[i];
    checker.check_kernel(kernel, drafts.kernels[i].path);
    if (drafts.kernels[i].path == draft.path) continue;  // They are the op's own.
    check_invariants(state, config, op, kernel.invariants, drafts.kernels[i].path);
  }
}

}  // namespace gpuemu
