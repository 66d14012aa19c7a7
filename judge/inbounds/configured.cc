#include "judge/inbounds/configured.h"

#include <algorithm>

#include <fmt/core.h>

#include "common/config/expression_node.h"
#include "judge/inbounds/limits.h"

namespace gpuemu::inbounds {
namespace {

/// Returns the range of an integer or bool type; for 64 bits without the end that int64 cannot
/// hold.
Interval range_of(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  if (dtype == DType::UInt64) return {0, Interval::kNone};
  if (dtype == DType::Int64) return {};
  const int bits = 8 * static_cast<int>(byte_size(dtype));
  if (is_signed_integer(dtype)) {
    return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
  }
  return {0, (int64_t{1} << bits) - 1};
}

using Node = Expression::Node;
using Op = ExpressionOp;

struct Tensor {
  std::vector<Polynomial> shape, strides;
  Polynomial count;  ///< In elements.
  Polynomial element_bytes;
  Polynomial address;
};

class DomainBuilder {
 public:
  explicit DomainBuilder(const Setting& setting) : setting_(setting), prover_(space_.symbols) {}

  LaunchDomain build(const LaunchSpec& launch) {
    for (const DimSpec& dim : setting_.op.dims) names_[dim.name] = one_of(dim.name, dim.values);
    for (const AttrSpec& attr : setting_.op.attrs) add_attr(attr);
    for (const DerivedDim& dim : setting_.op.derived_dims) {
      const Polynomial size = value_of(dim.value, dim.name);
      // A negative size is rejected before anything runs.
      if (!size.constant()) space_.known.facts.push_back(size);
      names_[dim.name] = size;
    }
    for (const auto* tensors : {&setting_.op.inputs, &setting_.op.outputs}) {
      for (const TensorSpec& spec : *tensors) add_tensor(spec);
    }
    for (const TensorSpec& spec : setting_.kernel.scratch) add_tensor(spec);
    if (setting_.kernel.supports && setting_.kernel.supports->root() != nullptr) {
      const Alternatives supported = holds_when(*setting_.kernel.supports->root(), true);
      space_.possible = !impossible(supported);
      space_.known.add(supported);
    }
    sizes(launch.grid, "gridDim", space_.grid);
    sizes(launch.block, "blockDim", space_.block);
    space_.add_threads();
    space_.shared_bytes = launch.shared ? value_of(*launch.shared, "shared") : Polynomial();
    for (const LaunchSpec::Arg& arg : launch.args) space_.params.push_back(argument(arg));
    return std::move(space_);
  }

 private:
  Polynomial one_of(const std::string& name, const std::vector<int64_t>& values) {
    const auto [least, most] = std::ranges::minmax(values);
    if (least == most) return Polynomial(least);
    return Polynomial::symbol(space_.symbols.add({.name = name, .range = {least, most}}));
  }

  void add_attr(const AttrSpec& attr) {
    if (is_float(attr.dtype)) return;
    if (const auto chosen = setting_.attrs.find(attr.name); chosen != setting_.attrs.end()) {
      names_[attr.name] = Polynomial(chosen->second);
      return;
    }
    std::vector<int64_t> values;
    for (const double value : attr.values) values.push_back(static_cast<int64_t>(value));
    names_[attr.name] = one_of(attr.name, values);
  }

  Polynomial anything(const std::string& name, Interval range) {
    return Polynomial::symbol(
        space_.symbols.add({.name = name,
                            .range = range,
                            .reason = "comes from an expression that is not understood"}));
  }

  Polynomial value_of(const Expression& expression, const std::string& name) {
    Polynomial poly =
        expression.root() == nullptr ? Polynomial::broken() : value(*expression.root());
    return poly.is_broken() ? anything(name, {}) : poly;
  }

  void add_tensor(const TensorSpec& spec) {
    if (tensors_.contains(spec.name)) return;  // An output that updates an input.
    Tensor tensor;
    tensor.count = Polynomial(1);
    for (size_t axis = 0; axis < spec.shape.size(); ++axis) {
      const Polynomial size =
          value_of(spec.shape[axis], fmt::format("{}.shape[{}]", spec.name, axis));
      // A negative size is rejected before anything runs.
      if (!size.constant()) space_.known.facts.push_back(size);
      tensor.shape.push_back(size);
      tensor.count = tensor.count * size;
    }
    const Polynomial elements = lay_out(spec, tensor);
    const auto dtype = spec.dtype == "{dtype}" ? setting_.dtype : dtype_from_alias(spec.dtype);
    const Polynomial bytes = dtype ? elements * Polynomial(static_cast<int64_t>(byte_size(*dtype)))
                                   : Polynomial::broken();
    tensor.element_bytes =
        dtype ? Polynomial(static_cast<int64_t>(byte_size(*dtype))) : Polynomial::broken();
    const Polynomial rest = Polynomial(static_cast<int64_t>(setting_.memory_limit_bytes)) - bytes;
    if (!bytes.constant() && !bytes.is_broken()) space_.known.facts.push_back(rest);
    tensor.address = space_.add_region({spec.name, ptx::Space::Global, bytes});
    tensors_[spec.name] = std::move(tensor);
  }

  bool is_always_packed(const TensorSpec& spec) const {
    if (!spec.outer_strides_passed && !spec.all_strides_passed) return true;
    const auto& layouts = setting_.op.layouts;
    return setting_.op.layouts_given && layouts == std::vector{MemoryLayout::Contiguous};
  }

  /// Sets the tensor's strides. Returns how many elements they span.
  Polynomial lay_out(const TensorSpec& spec, Tensor& tensor) {
    const size_t rank = tensor.shape.size();
    tensor.strides.assign(rank, Polynomial(1));
    if (is_always_packed(spec)) {
      for (size_t axis = rank; axis-- > 1;) {
        tensor.strides[axis - 1] = tensor.strides[axis] * tensor.shape[axis];
      }
      return tensor.count;
    }
    Polynomial reach(1);
    bool sound =
        std::ranges::find(setting_.op.layouts, MemoryLayout::Reversed) == setting_.op.layouts.end();
    for (size_t axis = 0; axis < rank; ++axis) {
      const bool free = spec.all_strides_passed || axis + 1 < rank;
      if (free) {
        tensor.strides[axis] = Polynomial::symbol(
            space_.symbols.add({.name = fmt::format("stride({}, {})", spec.name, axis),
                                .range = {0, Interval::kNone}}));
      }
      sound = sound && prover_.holds(tensor.shape[axis] - Polynomial(1), space_.known);
      reach += (tensor.shape[axis] - Polynomial(1)) * tensor.strides[axis];
    }
    return sound ? reach : Polynomial::broken();
  }

  void sizes(const std::vector<Expression>& from, const char* name, std::array<Polynomial, 3>& to) {
    to.fill(Polynomial(1));
    for (size_t axis = 0; axis < from.size() && axis < to.size(); ++axis) {
      to[axis] = value_of(from[axis], fmt::format("{}.{}", name, "xyz"[axis]));
    }
  }

  Polynomial argument(const LaunchSpec::Arg& arg) {
    using Kind = LaunchSpec::Arg::Kind;
    Interval range;
    switch (arg.kind) {
      case Kind::Tensor: {
        const auto found = tensors_.find(arg.tensor);
        if (found == tensors_.end()) return Polynomial::broken();
        if (!arg.value) return found->second.address;
        return found->second.address +
               value_of(*arg.value, "'" + arg.text + "'") * found->second.element_bytes;
      }
      case Kind::NullPointer:
        return {};
      case Kind::Struct:
        return Polynomial::broken();
      case Kind::Number:
        if (is_float(arg.dtype)) return Polynomial::broken();
        range = range_of(arg.dtype);
        break;
    }
    const Polynomial poly =
        arg.value ? value_of(*arg.value, "'" + arg.text + "'") : Polynomial::broken();
    if (poly.is_broken() || poly.constant()) return poly;
    // A launch whose numbers do not fit is rejected before anything runs.
    if (range.has_low()) space_.known.facts.push_back(poly - Polynomial(range.low));
    if (range.has_high()) space_.known.facts.push_back(Polynomial(range.high) - poly);
    return poly;
  }

  Polynomial value(const Node& node) {
    switch (node.op) {
      case Op::Integer:
        return Polynomial(node.integer);
      case Op::Name: {
        const auto found = names_.find(node.text);
        return found == names_.end() ? Polynomial::broken() : found->second;
      }
      case Op::Negate:
        return Polynomial(-1) * value(*node.children[0]);
      case Op::Add:
        return value(*node.children[0]) + value(*node.children[1]);
      case Op::Subtract:
        return value(*node.children[0]) - value(*node.children[1]);
      case Op::Multiply:
        return value(*node.children[0]) * value(*node.children[1]);
      case Op::Divide:
      case Op::Remainder:
      case Op::Cdiv:
      case Op::Roundup:
        return quotient(node);
      case Op::Min:
      case Op::Max:
        return extreme(node);
      case Op::Sizeof:
        return size_of(*node.children[0]);
      case Op::Numel:
      case Op::Stride:
        return of_tensor(node);
      default:
        return truth(node);
    }
  }

  Polynomial quotient(const Node& node) {
    const Polynomial a = value(*node.children[0]);
    const Polynomial b = value(*node.children[1]);
    if (a.is_broken() || !prover_.holds(b - Polynomial(1), space_.known)) {
      return Polynomial::broken();
    }
    if (node.op == Op::Cdiv || node.op == Op::Roundup) {
      const Polynomial up = space_.symbols.floor_of(a + b - Polynomial(1), b);
      return node.op == Op::Cdiv ? up : up * b;
    }
    if (!prover_.holds(a, space_.known)) return Polynomial::broken();
    const Polynomial down = space_.symbols.floor_of(a, b);
    return node.op == Op::Divide ? down : a - b * down;
  }

  Polynomial extreme(const Node& node) {
    Polynomial all = value(*node.children[0]);
    for (size_t i = 1; i < node.children.size(); ++i) {
      all = space_.symbols.extreme_of(all, value(*node.children[i]), node.op == Op::Max);
    }
    return all;
  }

  Polynomial size_of(const Node& node) const {
    const auto dtype = text_of(node) ? dtype_from_alias(*text_of(node)) : std::nullopt;
    return dtype ? Polynomial(static_cast<int64_t>(byte_size(*dtype))) : Polynomial::broken();
  }

  std::optional<std::string> text_of(const Node& node) const {
    if (node.op == Op::Text) return node.text;
    if (node.op == Op::Name && node.text == "dtype") return std::string(name_of(setting_.dtype));
    return std::nullopt;
  }

  Polynomial of_tensor(const Node& node) {
    const auto found = tensors_.find(node.text);
    if (found == tensors_.end()) return Polynomial::broken();
    if (node.op == Op::Numel) return found->second.count;
    const auto axis = value(*node.children[0]).constant();
    const auto& strides = found->second.strides;
    const auto rank = static_cast<int64_t>(strides.size());
    if (!axis || *axis < -rank || *axis >= rank) return Polynomial::broken();
    return strides[static_cast<size_t>(*axis < 0 ? *axis + rank : *axis)];
  }

  /// Returns 1 or 0.
  Polynomial truth(const Node& node) {
    if (impossible(holds_when(node, false))) return Polynomial(1);
    if (impossible(holds_when(node, true))) return Polynomial(0);
    return anything("(condition)", {0, 1});
  }

  bool impossible(const Alternatives& all) {
    return !all.empty() && std::ranges::all_of(all, [this](const Assumption& one) {
      return std::ranges::any_of(one.facts, [this](const Polynomial& fact) {
        return prover_.holds(Polynomial(-1) - fact, space_.known);
      });
    });
  }

  /// Returns what follows if a condition has the value `wanted`; nothing if the condition is not
  /// understood.
  Alternatives holds_when(const Node& node, bool wanted) {
    if (node.op == Op::Not) return holds_when(*node.children[0], !wanted);
    if (node.op == Op::And || node.op == Op::Or) return joined(node, wanted);
    if (node.op == Op::Equal || node.op == Op::NotEqual) {
      const auto left = text_of(*node.children[0]);
      const auto right = text_of(*node.children[1]);
      // For example, dtype == 'float16' can be decided.
      if (left && right) {
        const bool holds = ((*left == *right) == (node.op == Op::Equal)) == wanted;
        return {Assumption{{Polynomial(holds ? 0 : -1)}, {}}};
      }
    }
    const bool compares = node.op >= Op::Less && node.op <= Op::NotEqual;
    if (!compares) return {};
    const Polynomial a = value(*node.children[0]);
    const Polynomial b = value(*node.children[1]);
    if (a.is_broken() || b.is_broken()) return {};
    return compared(node.op, a, b, wanted);
  }

  static Alternatives compared(Op op, const Polynomial& a, const Polynomial& b, bool wanted) {
    if (op == Op::Greater) return compared(Op::Less, b, a, wanted);
    if (op == Op::GreaterEqual) return compared(Op::LessEqual, b, a, wanted);
    if (op == Op::NotEqual) return compared(Op::Equal, a, b, !wanted);
    if (op == Op::Less) return {Assumption{{wanted ? b - a - Polynomial(1) : a - b}, {}}};
    if (op == Op::LessEqual) return {Assumption{{wanted ? b - a : a - b - Polynomial(1)}, {}}};
    if (!wanted) return {Assumption{{}, {a - b}}};
    return {Assumption{{a - b, b - a}, {}}};
  }

  Alternatives joined(const Node& node, bool wanted) {
    const Alternatives left = holds_when(*node.children[0], wanted);
    const Alternatives right = holds_when(*node.children[1], wanted);
    const bool both = (node.op == Op::And) == wanted;
    if (!both) {
      if (left.empty() || right.empty() || left.size() + right.size() > kAlternativesMax) return {};
      Alternatives all = left;
      all.insert(all.end(), right.begin(), right.end());
      return all;
    }
    if (left.size() != 1) return right.empty() ? left : right;
    if (right.size() != 1) return left;
    Assumption all = left[0];
    all.facts.insert(all.facts.end(), right[0].facts.begin(), right[0].facts.end());
    all.unequal.insert(all.unequal.end(), right[0].unequal.begin(), right[0].unequal.end());
    return {all};
  }

  const Setting& setting_;
  LaunchDomain space_;
  InequalityProver prover_;
  std::map<std::string, Polynomial> names_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace

LaunchDomain launch_domain(const Setting& setting, const LaunchSpec& launch) {
  return DomainBuilder(setting).build(launch);
}

}  // namespace gpuemu::inbounds
