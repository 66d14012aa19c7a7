// Reads [[ops]], and the keys that a testable [[kernels]] table shares with it.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "common/base/limits.h"
#include "common/config/names.h"
#include "common/config/nan_policy.h"
#include "common/config/readers.h"
#include "common/numeric/element.h"

namespace gpuemu {
namespace {

constexpr size_t kOpsMax = 10'000;

std::string tensor_dtype(const ValueReader& value) {
  const auto text = value.text();
  if (!text || *text == "{dtype}") return "{dtype}";
  const auto dtype = dtype_from_alias(*text);
  if (dtype) return std::string(name_of(*dtype));
  if (*text == "T" || text->find('{') != std::string::npos || *text == "scalar_t") {
    value.problem(
        fmt::format("unknown dtype '{}'; write \"{{dtype}}\" for the one under test", *text));
    return "{dtype}";
  }
  (void)value.dtype();  // Only to report the problem.
  return "{dtype}";
}

/// Reads an end of a range: a number, or an expression into `expression`.
std::optional<double> range_end(const ValueReader& item, const Key& row,
                                std::optional<Expression>& expression) {
  if (!item.is(TomlValue::Kind::Text)) return item.number(row.least, row.most);
  expression = item.expression();
  return expression ? std::optional(0.0) : std::nullopt;
}

void read_range(TableReader& table, TensorSpec& tensor) {
  const auto value = table.find("range");
  if (!value) return;
  const auto items = value->items();
  if (!value->is(TomlValue::Kind::Array)) return;
  constexpr const char* kExpected =
      "expected [lowest, highest], such as [-10.0, 10.0] or [0, \"rows - 1\"]";
  if (items.size() != 2) return value->problem(kExpected);
  const Key& row = table.row_of("range");
  const auto low = range_end(items[0], row, tensor.range_low);
  const auto high = range_end(items[1], row, tensor.range_high);
  if (!low || !high) return;
  const bool known = !tensor.range_low && !tensor.range_high;
  if (known && *low > *high) return value->problem(kExpected);
  tensor.range = {*low, *high};
}

void read_align(TableReader& table, TensorSpec& tensor) {
  table.read_integer("align", tensor.align);
  if ((tensor.align & (tensor.align - 1)) != 0) {
    table.find("align")->problem(
        fmt::format("{} bytes, expected a power of two from 1 to 256", tensor.align));
    tensor.align = 256;
  }
}

std::optional<NanPolicy> read_policy(TableReader& table) {
  std::string policy;
  table.read_one_of("nan_policy", policy);
  return nan_policy_from_name(policy);
}

/// Reads `distinct` and `sorted` of an input.
void read_value_rules(TableReader& table, TensorSpec& tensor) {
  table.read("distinct", tensor.distinct);
  table.read("sorted", tensor.sorted);
  if (!tensor.distinct) return;
  const auto dtype = dtype_from_alias(tensor.dtype);
  if (dtype && is_float(*dtype)) {
    table.find("distinct")
        ->problem(fmt::format("'{}' is of {}; distinct needs integers, such as dtype = \"int32\"",
                              tensor.name, tensor.dtype));
  } else if (!table.has("range")) {
    table.find("distinct")
        ->problem("needs a range to draw from, such as range = [0, \"rows - 1\"]");
  }
}

const KeySection& keys_of(TensorList list) {
  switch (list) {
    case TensorList::Inputs:
      return input_keys();
    case TensorList::Outputs:
      return output_keys();
    case TensorList::Scratch:
      return scratch_keys();
  }
  GPUEMU_UNREACHABLE();
}

void read_init(TableReader& table, TensorSpec& tensor) {
  const auto value = table.find("init");
  if (!value) return;
  InitialValue init;
  if (value->is(TomlValue::Kind::Real)) {
    init.real = value->value().real;
  } else if (value->is(TomlValue::Kind::Integer) || value->is(TomlValue::Kind::Text)) {
    const auto expression = value->expression();
    if (!expression) return;
    init.value = *expression;
  } else {
    return value->wrong_kind("a number such as 0, or an expression in quotes");
  }
  if (tensor.inout) {
    return value->problem(
        "an inout output begins with the values of its input; leave out one of the two");
  }
  tensor.init = std::move(init);
}

TensorSpec read_tensor(const ValueReader& item, TensorList list) {
  const bool outputs = list == TensorList::Outputs;
  TensorSpec tensor;
  TableReader table(item, keys_of(list));
  table.read("name", tensor.name);
  if (const auto name = table.find("name")) {
    if (name->is(TomlValue::Kind::Text)) is_legal_name(*name, tensor.name);
  } else {
    table.missing("name", "the name of the tensor");
  }
  if (outputs) {
    table.read("inout", tensor.inout);
    if (const auto tolerance = table.find("tolerance")) {
      tensor.tolerance = read_tolerance(*tolerance);
    }
    tensor.nan_policy = read_policy(table);
    table.read("indices_of", tensor.indices_of);
    table.read("any_order", tensor.any_order);
    table.read_integer("axis", tensor.axis);
  }
  if (const auto shape = table.find("shape")) {
    const auto sizes = shape->items();
    if (sizes.size() > kRankMax) {
      shape->problem(fmt::format("{} dimensions, the limit is {}", sizes.size(), kRankMax));
    }
    for (const ValueReader& size : sizes) {
      if (const auto expression = size.expression()) tensor.shape.push_back(*expression);
    }
  } else if (!tensor.inout) {
    table.missing("shape", "a list of sizes such as [\"rows\", \"cols\"]; [] is a scalar");
  }
  tensor.dtype = "{dtype}";
  if (const auto dtype = table.find("dtype")) tensor.dtype = tensor_dtype(*dtype);
  read_range(table, tensor);
  if (list == TensorList::Inputs) read_value_rules(table, tensor);
  if (list != TensorList::Inputs) read_init(table, tensor);
  read_align(table, tensor);
  for (const char* end : {"min", "max"}) {
    if (!table.has(end)) continue;
    (void)table.named(end);
    table.problem_at_key(end,
                         "unknown key; the domain of the values is written range = [0.0, 1.0]");
  }
  table.finish();
  return tensor;
}

bool check_attr_value(const ValueReader& item, DType dtype, double number) {
  if (!is_float(dtype) && number != std::floor(number)) {
    item.problem(
        fmt::format("{} for an attr of type {}, expected an integer", number, name_of(dtype)));
    return false;
  }
  // Written so that the largest 64-bit numbers, rounded up to float64, are accepted.
  if (number >= lowest_value(dtype) && number <= highest_value(dtype)) return true;
  item.problem(fmt::format("{} is out of range, {} holds {} to {}", number, name_of(dtype),
                           lowest_value(dtype), highest_value(dtype)));
  return false;
}

void read_attr(const std::string& name, const ValueReader& value, OpConfig& op) {
  if (!is_legal_name(value, name)) return;
  if (!value.is(TomlValue::Kind::Table)) {
    return value.wrong_kind("a table, such as { values = [1.0, 0.5] }");
  }
  AttrSpec attr;
  attr.name = name;
  TableReader table(value, attr_keys());
  if (const auto type = table.find("type")) attr.dtype = type->dtype().value_or(attr.dtype);
  const auto values = table.find("values");
  if (!values) {
    table.missing("values", "a list of the values to test, such as [1.0, 0.5]");
  } else {
    const Key& row = table.row_of("values");
    for (const ValueReader& item : values->items(true)) {
      const auto number = item.number(row.least, row.most);
      if (number && check_attr_value(item, attr.dtype, *number)) attr.values.push_back(*number);
    }
    if (values->is(TomlValue::Kind::Array) && values->value().items.empty()) {
      values->problem("an empty list, expected at least one value");
    }
  }
  table.finish();
  if (!attr.values.empty()) op.attrs.push_back(std::move(attr));
}

void read_layouts(TableReader& table, OpConfig& op) {
  const auto value = table.find("layouts");
  if (!value) return;
  op.layouts_given = true;
  for (const ValueReader& item : value->items(true)) {
    if (const auto layout = item.one_of(table.allowed_words("layouts"))) {
      op.layouts.push_back(*memory_layout_from_name(*layout));
    }
  }
  if (value->is(TomlValue::Kind::Array) && value->value().items.empty()) {
    value->problem("an empty list, expected at least [\"contiguous\"]");
  }
}

void read_nan_policy(TableReader& table, OpConfig& op) {
  const auto policy = read_policy(table);
  op.has_nan_policy = op.nan_policy_given = policy.has_value();
  op.nan_policy = policy.value_or(op.nan_policy);
}

void read_mode(TableReader& table, OpConfig& op, OpDraft& draft) {
  std::string mode;
  table.read_one_of("execution_mode", mode);
  draft.mode_given = !mode.empty();
  if (mode == "daemon_orchestrated") {
    table.find("execution_mode")->warn("has no effect: it is the same as 'client_side'");
  }
  if (mode == "script_based") op.mode = ExecutionMode::ScriptBased;
  if (mode == "kernel" || (mode.empty() && !op.kernels.empty())) op.mode = ExecutionMode::Kernel;
}

void read_kernel_names(TableReader& table, OpConfig& op) {
  const auto value = table.find("kernel");
  if (!value) return;
  if (value->is(TomlValue::Kind::Array) && value->value().items.empty()) {
    value->problem(
        "an empty list, expected the name of a kernel; leave the key out if the op has "
        "none");
  }
  for (const ValueReader& item : value->items(true)) {
    const auto name = item.text();
    if (!name) continue;
    if (std::ranges::find(op.kernels, *name) != op.kernels.end()) {
      item.problem("'" + *name + "' is listed twice");
    } else {
      op.kernels.push_back(*name);
    }
  }
}

void read_op(const ValueReader& item, Config& config, Drafts& drafts) {
  OpConfig op;
  OpDraft draft;
  draft.path = draft.data_path = item.path();
  TableReader table(item, op_keys());
  table.read_name("the op's", op.name);
  read_reference(table, op.reference, op.reference_function);
  read_kernel_names(table, op);
  if (const auto path = table.find("op_script")) op.op_script = path->path_value().value_or("");
  read_mode(table, op, draft);
  table.read_one_of("reference_mode", op.reference_mode, reference_mode_from_name);
  read_test_data(table, op);
  read_tolerances(table, op.tolerances);
  read_invariants(table, op.invariants, op.invariants_off);
  table.finish();
  op.file = item.layer().name;
  op.line = item.value().line;
  op.column = item.value().column;
  op.end_line = last_line_of(item.value());
  config.ops.push_back(std::move(op));
  drafts.ops.push_back(std::move(draft));
}

}  // namespace

namespace {

/// Reads a name for all outputs, or a table of names by output.
void read_error_scale(TableReader& table, OpConfig& op) {
  const auto value = table.find("error_scale");
  if (!value) return;
  if (!value->is(TomlValue::Kind::Table)) {
    table.read_one_of("error_scale", op.error_scale, error_scale_from_name);
    return;
  }
  TableReader rows(*value);
  for (const auto& [output, scale] : rows.all()) {
    if (const auto name = scale.one_of(table.allowed_words("error_scale"))) {
      op.error_scales[output] = *error_scale_from_name(*name);
    }
  }
}

}  // namespace

void read_reference(TableReader& table, std::string& path, std::string& function) {
  const auto value = table.find("reference");
  if (!value) return;
  path = value->path_value().value_or("");
  const size_t colon = path.rfind(".py:");
  if (colon == std::string::npos) return;
  function = path.substr(colon + 4);
  path.resize(colon + 3);
  const auto is_part = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c >= 0x80;
  };
  if (function.empty() || std::isdigit(static_cast<unsigned char>(function[0])) != 0 ||
      !std::ranges::all_of(function, is_part)) {
    value->problem(fmt::format(
        "'{}' is not the name of a function, expected such as ref.py:softmax", function));
  }
  if (function == "reference") function.clear();
}

std::vector<TensorSpec> read_tensors(TableReader& table, std::string_view key, TensorList list) {
  std::vector<TensorSpec> tensors;
  const auto value = table.find(key);
  if (!value) return tensors;
  const auto items = value->items();
  if (items.size() > kTensorsMax) {
    value->problem(fmt::format("{} tensors, the limit is {}", items.size(), kTensorsMax));
    return tensors;
  }
  for (const ValueReader& item : items) tensors.push_back(read_tensor(item, list));
  return tensors;
}

void read_test_data(TableReader& table, OpConfig& op) {
  table.read("input_names", op.input_names);
  op.inputs = read_tensors(table, "inputs", TensorList::Inputs);
  op.outputs = read_tensors(table, "outputs", TensorList::Outputs);
  read_dims(table, op);
  if (const auto guess = table.find("guess")) op.guess = guess->text().value_or("");
  table.read("require", op.require);
  if (const auto attrs = table.find("attrs")) {
    TableReader rows(*attrs);
    for (const auto& [name, value] : rows.all()) read_attr(name, value, op);
  }
  table.read("dtypes", op.dtypes);
  table.read("accumulate", op.accumulate);
  if (const auto dtype = table.find("accumulate_dtype")) op.accumulate_dtype = dtype->dtype();
  read_error_scale(table, op);
  if (const auto strict = table.find("strict")) op.strict = strict->boolean();
  read_nan_policy(table, op);
  std::string subnormal;
  table.read_one_of("subnormal", subnormal);
  if (subnormal == "keep") op.subnormal = SubnormalPolicy::Keep;
  if (subnormal == "ftz_ok") op.subnormal = SubnormalPolicy::FtzOk;
  table.read("deterministic", op.deterministic);
  if (const auto exact = table.find("exact")) op.exact = exact->boolean();
  table.read_integer("max_elements", op.max_elements);
  read_layouts(table, op);
}

void read_ops(TableReader& root, Config& config, Drafts& drafts) {
  const auto value = root.find("ops");
  if (!value) return;
  const auto items = value->items();
  if (!value->layer().project || items.size() > kOpsMax) {
    value->problem(items.size() > kOpsMax ? "more than 10000 ops"
                                          : "ops belong into a project's gpuemu.toml");
    return;
  }
  for (const ValueReader& item : items) read_op(item, config, drafts);
}

}  // namespace gpuemu
