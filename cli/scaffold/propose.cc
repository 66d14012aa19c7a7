#include "cli/scaffold/propose.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <re2/re2.h>

namespace gpuemu::cli {
namespace {

struct TypeRow {
  std::string_view name, dtype, tag;
};
constexpr auto kTypes = std::to_array<TypeRow>({
    {"float", "float32", "f32"},
    {"double", "float64", "f64"},
    {"half", "float16", ""},
    {"__half", "float16", ""},
    {"__nv_bfloat16", "bfloat16", ""},
    {"nv_bfloat16", "bfloat16", ""},
    {"int", "int32", "i32"},
    {"int32_t", "int32", "i32"},
    {"unsigned", "uint32", "u32"},
    {"unsigned int", "uint32", "u32"},
    {"uint32_t", "uint32", "u32"},
    {"long", "int64", "i64"},
    {"long long", "int64", "i64"},
    {"int64_t", "int64", "i64"},
    {"size_t", "uint64", "u64"},
    {"unsigned long long", "uint64", "u64"},
    {"uint64_t", "uint64", "u64"},
    {"char", "int8", ""},
    {"int8_t", "int8", ""},
    {"signed char", "int8", ""},
    {"unsigned char", "uint8", ""},
    {"uint8_t", "uint8", ""},
    {"short", "int16", ""},
    {"int16_t", "int16", ""},
    {"bool", "bool", ""},
});

const TypeRow* find_type(std::string_view name) {
  if (name.starts_with("std::")) name.remove_prefix(5);
  const auto found = std::ranges::find(kTypes, name, &TypeRow::name);
  return found == kTypes.end() ? nullptr : &*found;
}

bool is_real(const TypeRow& type) { return type.tag == "f32" || type.tag == "f64"; }

/// "T" of "typename T"; "" for "int N".
std::string type_parameter(const std::string& text) {
  for (const std::string_view word : {"typename ", "class "}) {
    if (text.starts_with(word)) return text.substr(word.size(), text.find('=') - word.size());
  }
  return {};
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string product(const std::vector<std::string>& factors) {
  std::string text;
  for (const std::string& factor : factors) text += (text.empty() ? "" : " * ") + factor;
  return text;
}

std::string unique_name(const std::string& wanted, const std::vector<ProposedParam>& params) {
  std::string name = legal_name(wanted);
  while (std::ranges::find(params, name, &ProposedParam::name) != params.end()) name += "_";
  return name;
}

/// Whether each block works on a row of its own: its number stands alone or is multiplied by a
/// size.
bool is_row_per_block(const std::string& body, const std::vector<std::string>& dims) {
  std::string text;
  for (const char letter : body) {
    if (letter != ' ' && letter != '\n' && letter != '\t') text += letter;
  }
  if (has(text, "=blockIdx.x;") || has(text, "[blockIdx.x]")) return true;
  return std::ranges::any_of(dims, [&](const std::string& dim) {
    return has(text, "blockIdx.x*" + dim) || has(text, "blockIdx.x)*" + dim) ||
           has(text, dim + "*blockIdx.x");
  });
}

/// How the kernel's own text finds its place in the grid.
void propose_grid(const std::string& body, ProposedKernel& kernel) {
  std::vector<std::string> dims = kernel.dims();
  const bool row_per_block = is_row_per_block(body, dims);
  if (row_per_block && dims.size() == 1) {
    kernel.grid_dims = {unique_name("rows", kernel.params)};
    dims = kernel.dims();
  }
  kernel.block = {"256"};
  if (dims.empty()) {
    kernel.grid = {"1"};
  } else if (has(body, "blockIdx.y") && dims.size() > 1) {
    kernel.block = {"16", "16"};
    kernel.grid = {fmt::format("cdiv({}, 16)", dims[1]), fmt::format("cdiv({}, 16)", dims[0])};
  } else if (row_per_block && dims.size() > 1) {
    kernel.grid = {dims[0]};  // A block for each row.
  } else {
    kernel.grid = {fmt::format("cdiv({}, 256)", product(dims))};
  }
}

/// A type that is not known by its name counts as the widest that is usual.
uint32_t bytes_of_element(const std::string& type) {
  constexpr uint32_t kUnknown = 8;
  const TypeRow* row = find_type(type);
  if (row == nullptr) return type == "float4" || type == "int4" || type == "uint4" ? 16 : kUnknown;
  // Bytes are most often cut into other types.
  if (row->dtype.ends_with("int8") || row->dtype == "bool") return kUnknown;
  return row->dtype.ends_with("64") ? 8 : row->dtype.ends_with("32") ? 4 : 2;
}

/// Gives `extern __shared__ TYPE name[]` one element for each thread of the block.
std::string dynamic_shared(const std::string& body, const std::vector<std::string>& block) {
  static const RE2 kDeclaration(
      R"(extern\s+(?:\w+\s*\(\s*\d+\s*\)\s*)?__shared__\s+(?:\w+\s*\(\s*\d+\s*\)\s*)?)"
      R"(((?:unsigned\s+|signed\s+|long\s+)*[A-Za-z_][\w:]*)\s+\w+\s*\[\s*\])");
  std::string type;
  if (!RE2::PartialMatch(body, kDeclaration, &type)) return {};
  return fmt::format("{} * {}", product(block), bytes_of_element(type));
}

/// Takes the last pointer for the output where no parameter is const.
void settle_outputs(bool const_is_known, std::vector<ProposedParam>& params) {
  std::vector<ProposedParam*> tensors;
  for (ProposedParam& one : params) {
    if (one.role == ParamRole::Input || one.role == ParamRole::Output) tensors.push_back(&one);
  }
  if (tensors.empty()) return;
  if (tensors.size() == 1 && tensors[0]->role == ParamRole::Output) {
    tensors[0]->role = ParamRole::InOut;
  }
  if (const_is_known || tensors.size() == 1) return;
  for (ProposedParam* one : tensors) one->role = ParamRole::Input;
  tensors.back()->role = ParamRole::Output;
}

}  // namespace

std::vector<std::string> ProposedKernel::dims() const {
  std::vector<std::string> names = grid_dims;
  for (const ProposedParam& param : params) {
    if (param.role == ParamRole::Dim) names.push_back(param.name);
  }
  return names;
}

std::string legal_name(const std::string& text) {
  const bool digit_first = text.empty() || (text[0] >= '0' && text[0] <= '9');
  std::string name(digit_first ? 1 : 0, 'k');
  for (const char letter : text) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') || letter == '_';
    name += plain ? letter : '_';
  }
  return name;
}

std::optional<ProposedKernel> propose(const SourceKernel& kernel, const std::string& source,
                                      std::string& why) {
  ProposedKernel made{legal_name(kernel.name), source, kernel.name, {}, {}, {}, {}};
  std::string type_name;
  if (!kernel.template_params.empty()) {
    if (kernel.template_params.size() > 1 || type_parameter(kernel.template_params[0]).empty()) {
      std::string over;
      for (const std::string& param : kernel.template_params) {
        over += (over.empty() ? "" : ", ") + param;
      }
      why = fmt::format(
          "{} is a template over <{}>, and only one over a single type can be "
          "proposed; write its launch yourself",
          kernel.name, over);
      return std::nullopt;
    }
    type_name = legal_name(type_parameter(kernel.template_params[0]));
    while (!type_name.empty() && type_name.back() == '_') type_name.pop_back();
    made.entry += "<{ctype}>";
  }
  bool any_const = false;
  for (const SourceParam& param : kernel.params) {
    const std::string name = unique_name(
        param.name.empty() ? fmt::format("p{}", made.params.size()) : param.name, made.params);
    const bool templated = !type_name.empty() && param.type == type_name;
    const TypeRow* type = find_type(param.type);
    if (param.pointer && (templated || type != nullptr)) {
      any_const = any_const || param.is_const;
      made.params.push_back({name, param.is_const ? ParamRole::Input : ParamRole::Output,
                             templated ? "{dtype}" : std::string(type->dtype), ""});
    } else if (!param.pointer && type != nullptr && !type->tag.empty()) {
      made.params.push_back({name, is_real(*type) ? ParamRole::Attr : ParamRole::Dim,
                             std::string(type->dtype), std::string(type->tag)});
    } else {
      why = fmt::format("parameter '{} {}' of {} is of a type that gpuemu.toml cannot pass",
                        param.type, param.name, kernel.name);
      return std::nullopt;
    }
  }
  settle_outputs(any_const, made.params);
  propose_grid(kernel.body, made);
  made.shared = dynamic_shared(kernel.body, made.block);
  return made;
}

std::optional<ProposedKernel> propose(const PtxMetrics& entry, const std::string& source,
                                      std::string& why) {
  ProposedKernel made{legal_name(entry.entry), source, entry.entry, {}, {}, {}, {}};
  for (const EntryParam& param : entry.params) {
    const std::string position = std::to_string(made.params.size());
    const bool real = param.type == "f32" || param.type == "f64";
    if (real) {
      made.params.push_back({"a" + position, ParamRole::Attr,
                             param.type == "f32" ? "float32" : "float64", param.type});
    } else if (param.bytes == 8) {
      made.params.push_back({"t" + position, ParamRole::Input, "float32", ""});
    } else if (param.bytes == 4) {
      made.params.push_back({"n" + position, ParamRole::Dim, "int32", "i32"});
    } else {
      why = fmt::format("parameter {} of {} has {} bytes, which gpuemu.toml cannot pass",
                        made.params.size(), entry.entry, param.bytes);
      return std::nullopt;
    }
  }
  settle_outputs(false, made.params);
  propose_grid("", made);
  return made;
}

}  // namespace gpuemu::cli
