// Reads [[kernels]]: source, launches and artifact checks.
#include <algorithm>

#include <fmt/format.h>

#include "common/config/names.h"
#include "common/config/readers.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

constexpr size_t kKernelsMax = 10'000;
constexpr size_t kLaunchesMax = 64;
constexpr size_t kArgsMax = 256;

constexpr int kStructDepthMax = 8;

struct ArgPrefix {
  std::string_view prefix;
  DType dtype;
};
constexpr ArgPrefix kArgPrefixes[] = {
    {"i8:", DType::Int8},       {"u8:", DType::UInt8},    {"i16:", DType::Int16},
    {"u16:", DType::UInt16},    {"i32:", DType::Int32},   {"u32:", DType::UInt32},
    {"i64:", DType::Int64},     {"u64:", DType::UInt64},  {"f16:", DType::Float16},
    {"bf16:", DType::BFloat16}, {"f32:", DType::Float32}, {"f64:", DType::Float64},
    {"bool:", DType::Bool}};

std::optional<LaunchSpec::Arg> read_arg(const ValueReader& item, int depth);

/// Reads a struct passed by value, as its members in order.
std::optional<LaunchSpec::Arg> read_struct(const ValueReader& item, int depth) {
  LaunchSpec::Arg arg;
  arg.kind = LaunchSpec::Arg::Kind::Struct;
  const auto items = item.items();
  if (items.empty() || depth >= kStructDepthMax) {
    item.problem(items.empty() ? "a structure without members, expected such as [\"i32:n\"]"
                               : "structures in structures end at 8 levels");
    return std::nullopt;
  }
  for (const ValueReader& one : items) {
    auto member = read_arg(one, depth + 1);
    if (!member) return std::nullopt;
    if (member->kind == LaunchSpec::Arg::Kind::Tensor) {
      one.problem(
          fmt::format("'{}': a member of a structure is a number such as i32:n, ptr:null or "
                      "a list; a tensor's address is passed only by a parameter of its own",
                      member->text));
      return std::nullopt;
    }
    arg.text += (arg.text.empty() ? "[" : ", ") + member->text;
    arg.members.push_back(*std::move(member));
  }
  arg.text += "]";
  return arg;
}

/// Suggests what "int32:n", "n:i32" or "ptr:0" may have meant.
std::string kind_meant(const std::string& kind, const std::string& rest) {
  const auto is_kind = [&](const ArgPrefix& row) { return row.prefix == rest + ":"; };
  if (std::ranges::any_of(kArgPrefixes, is_kind)) {
    return fmt::format("; did you mean '{}:{}'?", rest, kind);
  }
  if (kind == "ptr") return "; did you mean 'ptr:null'?";
  const auto dtype = kind == "int" ? DType::Int32 : dtype_from_alias(kind);
  for (const ArgPrefix& row : kArgPrefixes) {
    if (dtype == row.dtype) return fmt::format("; did you mean '{}'?", row.prefix);
  }
  return {};
}

std::optional<LaunchSpec::Arg> read_arg(const ValueReader& item, int depth) {
  if (item.is(TomlValue::Kind::Array)) return read_struct(item, depth);
  if (item.is(TomlValue::Kind::Integer)) {
    item.problem(fmt::format("a number needs its type: write \"i32:{}\"", item.value().integer));
    return std::nullopt;
  }
  const auto text = item.text();
  if (!text) return std::nullopt;
  LaunchSpec::Arg arg;
  arg.text = *text;
  if (*text == "ptr:null") {
    arg.kind = LaunchSpec::Arg::Kind::NullPointer;
    return arg;
  }
  for (const ArgPrefix& row : kArgPrefixes) {
    if (!text->starts_with(row.prefix)) continue;
    arg.kind = LaunchSpec::Arg::Kind::Number;
    arg.dtype = row.dtype;
    arg.value = item.expression(row.prefix.size());
    if (!arg.value) return std::nullopt;
    return arg;
  }
  const size_t colon = text->find(':');
  if (colon != std::string::npos) {
    item.problem(fmt::format(
        "unknown kind of argument '{}', expected i32:, u32:, i64:, u64:, f32:, f64:, bool:, i8:, "
        "u8:, i16:, u16:, f16:, bf16:, ptr:null or the name of a tensor{}",
        text->substr(0, colon + 1), kind_meant(text->substr(0, colon), text->substr(colon + 1))));
    return std::nullopt;
  }
  const size_t plus = text->find('+');
  arg.tensor = text->substr(0, std::min(plus, text->size()));
  if (plus == std::string::npos) return arg;
  arg.tensor.resize(arg.tensor.find_last_not_of(' ') + 1);
  arg.value = item.expression(plus + 1);
  if (!arg.value) return std::nullopt;
  return arg;
}

std::vector<Expression> read_extent(TableReader& table, std::string_view key) {
  std::vector<Expression> extent;
  const auto value = table.find(key);
  if (!value) {
    table.missing(key, "one to three sizes such as [\"rows\"]");
    return extent;
  }
  const auto items = value->items(true);
  for (const ValueReader& item : items) {
    if (const auto size = item.expression()) extent.push_back(*size);
  }
  if (items.size() > 3 || (items.empty() && value->is(TomlValue::Kind::Array))) {
    value->problem(fmt::format("{} sizes, expected one to three", items.size()));
    extent.clear();
  }
  return extent;
}

// Only {ctype} and {dtype} are replaced; any other brace is a misspelling.
void check_placeholders(const ValueReader& value, const std::string& entry) {
  for (size_t at = entry.find('{'); at != std::string::npos; at = entry.find('{', at + 1)) {
    const std::string rest = entry.substr(at);
    if (rest.starts_with("{ctype}") || rest.starts_with("{dtype}")) continue;
    value.problem(fmt::format("unknown placeholder '{}', expected {{ctype}} or {{dtype}}",
                              rest.substr(0, rest.find('}') + 1)));
  }
}

LaunchSpec read_launch(const ValueReader& item) {
  LaunchSpec launch;
  TableReader table(item, launch_keys());
  if (const auto entry = table.find("entry")) {
    launch.entry = entry->text().value_or("");
    if (launch.entry.empty() && entry->is(TomlValue::Kind::Text)) {
      entry->problem("empty, expected the name of a kernel");
    }
    check_placeholders(*entry, launch.entry);
  } else {
    table.missing("entry", "the kernel's name, such as \"softmax<{ctype}>\"");
  }
  launch.grid = read_extent(table, "grid");
  launch.block = read_extent(table, "block");
  if (table.has("cluster")) launch.cluster = read_extent(table, "cluster");
  table.read("shared", launch.shared);
  if (const auto args = table.find("args")) {
    const auto items = args->items();
    if (items.size() > kArgsMax) args->problem("more than 256 arguments");
    for (const ValueReader& arg : items) {
      if (auto read = read_arg(arg, 0)) {
        launch.args.push_back(std::move(*read));
      } else {
        launch.args.emplace_back();  // Keeps the positions of the following ones.
      }
    }
  }
  table.finish();
  return launch;
}

void read_launches(TableReader& table, KernelConfig& kernel) {
  const auto value = table.find("launches");
  if (!value) return;
  const auto items = value->items();
  if (items.size() > kLaunchesMax) value->problem("more than 64 launches");
  for (const ValueReader& item : items) kernel.launches.push_back(read_launch(item));
}

void read_symbols(TableReader& table, KernelConfig& kernel) {
  const auto value = table.find("symbols");
  if (!value) return;
  TableReader symbols(*value);
  for (const auto& [name, one] : symbols.all()) {
    if (auto set = read_arg(one, 0)) kernel.symbols.push_back({name, *std::move(set)});
  }
}

void read_source(TableReader& table, KernelConfig& kernel) {
  const auto value = table.find("source");
  if (!value) return;
  const auto text = value->text();
  if (!text) return;
  if (text->starts_with("builtin:")) {
    kernel.source = *text;
    const std::string name = text->substr(std::string_view("builtin:").size());
    const std::vector<std::string> known = texts_of(builtin_kernel_names());
    if (std::ranges::find(known, name) == known.end()) {
      value->problem(fmt::format("no built-in kernel is called '{}', expected one of {}{}", name,
                                 fmt::join(known, ", "), did_you_mean(name, known)));
    }
    return;
  }
  kernel.source = value->path_value().value_or("");
  // CUDA sources that existing projects list for lint may have any of these endings.
  for (const char* ending : {".cu", ".cuh", ".ptx", ".fatbin", ".cubin", ".py"}) {
    if (text->ends_with(ending)) return;
  }
  value->problem("'" + *text + "', expected a file that ends in .cu or .ptx, or builtin:NAME");
}

void read_kernel(const ValueReader& item, Config& config, Drafts& drafts) {
  KernelConfig kernel;
  KernelDraft draft;
  draft.path = item.path();
  TableReader table(item, kernel_keys());
  table.read_name("the kernel's", kernel.name);
  read_source(table, kernel);
  read_reference(table, kernel.reference, kernel.reference_function);
  table.read_integer("priority", kernel.priority);
  table.read("supports", kernel.supports);
  kernel.scratch = read_tensors(table, "scratch", TensorList::Scratch);
  read_launches(table, kernel);
  read_symbols(table, kernel);
  read_test_data(table, draft.data);
  read_tolerances(table, kernel.tolerances);
  read_invariants(table, kernel.invariants, draft.data.invariants_off);
  read_artifact_checks(table, kernel.artifact_checks);
  table.finish();
  kernel.file = item.layer().name;
  kernel.line = item.value().line;
  kernel.column = item.value().column;
  kernel.end_line = last_line_of(item.value());
  config.kernels.push_back(std::move(kernel));
  drafts.kernels.push_back(std::move(draft));
}

}  // namespace

void read_kernels(TableReader& root, Config& config, Drafts& drafts) {
  const auto value = root.find("kernels");
  if (!value) return;
  const auto items = value->items();
  if (!value->layer().project || items.size() > kKernelsMax) {
    value->problem(items.size() > kKernelsMax ? "more than 10000 kernels"
                                              : "kernels belong into a project's gpuemu.toml");
    return;
  }
  for (const ValueReader& item : items) read_kernel(item, config, drafts);
}

}  // namespace gpuemu
