#include "cli/proposals/propose.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/cuda_text/c_expression.h"
#include "cli/cuda_text/cpp_text.h"
#include "cli/cuda_text/instances.h"
#include "cli/cuda_text/types.h"
#include "cli/proposals/guess_launch.h"

namespace gpuemu::cli {
namespace {

// Words that Python, or an expression of gpuemu.toml, does not read as names.
constexpr auto kReserved = std::to_array<std::string_view>(
    {"False", "None",     "True",  "and",    "as",     "assert", "async",  "await",    "break",
     "class", "continue", "def",   "del",    "elif",   "else",   "except", "finally",  "for",
     "from",  "global",   "if",    "import", "in",     "is",     "lambda", "nonlocal", "not",
     "or",    "pass",     "raise", "return", "try",    "while",  "with",   "yield",    "dtype",
     "cdiv",  "roundup",  "min",   "max",    "sizeof", "numel",  "stride"});

bool is_real(const std::string& tag) {
  return tag == "f32" || tag == "f64" || tag == "f16" || tag == "bf16";
}

std::string unique_name(const std::string& wanted, const std::vector<ProposedParam>& params) {
  std::string name = legal_name(wanted);
  while (std::ranges::find(params, name, &ProposedParam::name) != params.end()) name += "_";
  return name;
}

/// If nothing is const, or everything, assumes that the last pointer is the output.
void settle_outputs(bool const_is_known, std::vector<ProposedParam>& params) {
  std::vector<ProposedParam*> tensors;
  for (ProposedParam& one : params) {
    if (one.role == ParamRole::Input || one.role == ParamRole::Output) tensors.push_back(&one);
  }
  if (tensors.empty()) return;
  if (tensors.size() == 1 && tensors[0]->role == ParamRole::Output) {
    tensors[0]->role = ParamRole::InOut;
  }
  const bool writes = std::ranges::any_of(
      tensors, [](const ProposedParam* one) { return one->role == ParamRole::Output; });
  if ((const_is_known && writes) || tensors.size() == 1) return;
  for (ProposedParam* one : tensors) one->role = ParamRole::Input;
  tensors.back()->role = ParamRole::Output;
}

/// Returns the type of a parameter with template types replaced by those of the instance.
std::string type_in(const SourceParam& param, const Instance& instance) {
  const auto known = instance.types.find(param.type);
  return known == instance.types.end() ? param.type : known->second;
}

/// Sets the role of a number; returns false if `known` is not a number.
bool set_number(const ElementType& known, ProposedParam& out) {
  if (known.tag.empty()) return false;
  out.role = is_real(known.tag) || known.tag == "bool" ? ParamRole::Attr : ParamRole::Dim;
  if (known.tag == "bool") out.values = "[1, 0]";
  out.dtype = known.dtype;
  out.tag = known.tag;
  return true;
}

/// Adds the members of a structure or a short vector passed by value. Returns false if one is not a
/// number.
bool add_members(const SourceParam& param, const std::string& type, const Definitions& definitions,
                 ProposedKernel& made) {
  std::vector<StructMember> members;
  const auto known = definitions.structs.find(definitions.plain_type(type));
  if (known != definitions.structs.end()) members = known->second;
  const ElementType vector = element_type(type, definitions);
  for (uint32_t lane = 0; known == definitions.structs.end() && lane < vector.lanes && lane < 4;
       ++lane) {
    members.push_back({type.substr(0, type.size() - 1), std::string(1, "xyzw"[lane]), "", false});
  }
  for (const StructMember& member : members) {
    ProposedParam out;
    out.written = param.name + "." + member.name;
    out.group = param.name;
    const bool number = !member.pointer && member.count.empty() &&
                        set_number(element_type(member.type, definitions), out);
    if (!number) return false;
    out.name = unique_name(member.name, made.params);
    made.params.push_back(std::move(out));
  }
  return !members.empty();
}

/// Adds the __constant__ variables that the kernel reads and host code sets. Returns false with
/// `why` for one whose elements gpuemu.toml does not support.
bool add_symbols(const Definitions& definitions, ProposedKernel& made, std::string& why) {
  for (const DeviceVariable& variable : definitions.variables) {
    if (!variable.is_constant || variable.initialised) continue;
    if (find_word(made.body, variable.name) == std::string::npos) continue;
    const ElementType type = element_type(variable.type, definitions);
    const auto count =
        variable.count.empty() ? std::optional<int64_t>(1) : number_of(variable.count, definitions);
    const bool is_structure = definitions.structs.contains(definitions.plain_type(variable.type));
    if (type.dtype.empty() || is_structure || !count || *count < 1) {
      why = fmt::format(
          "it reads the __constant__ variable {} of type {}{}, for which no values can be "
          "proposed; "
          "declare the kernel and set the variable with `symbols = {{ {} = ... }}`",
          variable.name, variable.type, variable.count.empty() ? "" : "[" + variable.count + "]",
          variable.name);
      return false;
    }
    made.symbols.push_back({variable.name, unique_name(variable.name, made.params), type.dtype,
                            static_cast<uint64_t>(*count) * type.lanes});
  }
  return true;
}

/// Returns false with `why` for a parameter that gpuemu.toml cannot pass.
bool add_param(const SourceParam& param, const Instance& instance, const Definitions& definitions,
               ProposedKernel& made, std::string& why) {
  ProposedParam out;
  out.written = param.name;
  out.is_const = param.is_const;
  out.name = unique_name(param.name.empty() ? fmt::format("p{}", made.params.size()) : param.name,
                         made.params);
  const std::string type = type_in(param, instance);
  if (param.pointer && type == "void") {
    out.role = param.is_const ? ParamRole::Input : ParamRole::Output;
    out.dtype = "uint8";
    made.notes.push_back(
        fmt::format("No cast in its body says what {} points to: bytes.", param.name));
    made.params.push_back(std::move(out));
    return true;
  }
  const bool is_dtype = type == "{dtype}";
  const ElementType known = is_dtype ? ElementType{} : element_type(type, definitions);
  if (param.pointer && (is_dtype || !known.dtype.empty())) {
    out.role = param.is_const ? ParamRole::Input : ParamRole::Output;
    out.dtype = is_dtype ? "{dtype}" : known.dtype;
    out.lanes = is_dtype ? 1 : known.lanes;
    made.params.push_back(std::move(out));
    return true;
  }
  if (!param.pointer && set_number(known, out)) {
    made.params.push_back(std::move(out));
    return true;
  }
  if (!param.pointer && !is_dtype && add_members(param, type, definitions, made)) return true;
  constexpr auto kHandles = std::to_array<std::string_view>(
      {"cudaTextureObject_t", "cudaSurfaceObject_t", "CUtensorMap"});
  if (std::ranges::find(kHandles, definitions.plain_type(type)) != kHandles.end()) {
    why = fmt::format(
        "it takes '{} {}', which only a program can make; check it in yours: `gpuemu run "
        "./program`",
        param.type, param.name);
    return false;
  }
  why = fmt::format(
      "it takes '{} {}{}', which gpuemu.toml cannot pass; write a __global__ function beside it "
      "that "
      "takes pointers and numbers and calls its body",
      param.type, param.pointer ? "*" : "", param.name);
  return false;
}

/// Finds the contents of tensors before the launch, from host code or the kernel's own text.
void find_initial_values(const SourceKernel& source, const Instance& instance,
                         const Definitions& definitions, ProposedKernel& made) {
  for (ProposedParam& param : made.params) {
    if (!is_tensor(param) || param.is_const) continue;
    const auto written = std::ranges::find(source.params, param.written, &SourceParam::name);
    const auto index = static_cast<size_t>(written - source.params.begin());
    for (const HostLaunch* host : instance.launches) {
      if (index >= host->args.size() || !param.init.empty()) continue;
      const auto fill = host->fills.find(base_variable(host->args[index]));
      if (fill == host->fills.end()) continue;
      param.init = filled_with(fill->second, param.dtype, definitions).value_or("");
    }
    if (!param.init.empty()) continue;
    param.init = begins_with(made.body, param.written, param.dtype, definitions).value_or("");
  }
}

}  // namespace

std::vector<std::string> ProposedKernel::dims() const {
  std::vector<std::string> names =
      launches.empty() ? std::vector<std::string>() : launch().grid_dims;
  for (const ProposedParam& param : params) {
    if (param.role == ParamRole::Dim && !follows.contains(param.name)) names.push_back(param.name);
  }
  return names;
}

const ProposedParam* param_written(const ProposedKernel& kernel, const std::string& name) {
  const auto found = std::ranges::find(kernel.params, name, &ProposedParam::written);
  return found == kernel.params.end() ? nullptr : &*found;
}

std::string legal_name(const std::string& text) {
  const bool digit_first = text.empty() || (text[0] >= '0' && text[0] <= '9');
  std::string name(digit_first ? 1 : 0, 'k');
  for (const char letter : text) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') || letter == '_';
    name += plain ? letter : '_';
  }
  if (std::ranges::find(kReserved, name) != kReserved.end()) name += '_';
  return name;
}

std::vector<ProposedKernel> propose(const SourceKernel& kernel, const SourceContext& context,
                                    const std::string& source, std::string& why) {
  std::vector<ProposedKernel> all;
  for (const Instance& instance : instances_of(kernel, context.definitions, context.launches)) {
    ProposedKernel made;
    made.name =
        legal_name(instance.suffix.empty() ? kernel.name : kernel.name + "_" + instance.suffix);
    made.source = source;
    made.entry = instance.entry;
    made.dtypes = instance.dtypes;
    made.body = kernel.body;
    bool any_const = false;
    for (const SourceParam& param : kernel.params) {
      if (!add_param(param, instance, context.definitions, made, why)) return {};
      any_const = any_const || (param.pointer && param.is_const);
    }
    settle_outputs(any_const, made.params);
    find_initial_values(kernel, instance, context.definitions, made);
    if (!add_symbols(context.definitions, made, why)) return {};
    made.launches = guess_launches(kernel, instance, context, made);
    for (const std::string& name : instance.guessed) {
      made.notes.push_back(
          fmt::format("no launch says what the template parameter {} is: {} is a guess", name,
                      instance.values.contains(name) ? instance.values.at(name) : "its type"));
    }
    all.push_back(std::move(made));
  }
  return all;
}

std::vector<std::string> threads_of_entry(const std::string& ptx, const std::string& entry) {
  const std::string directive =
      R"(\.entry\s+)" + RE2::QuoteMeta(entry) + R"(\b[^{]*\.(?:reqntid|maxntid)\s+([\d\s,]+))";
  std::string list;
  if (!RE2::PartialMatch(ptx, directive, &list)) return {};
  std::vector<std::string> threads = split_list(list);
  while (threads.size() > 1 && threads.back() == "1") threads.pop_back();
  return threads;
}

std::optional<ProposedKernel> propose(const PtxMetrics& entry, const std::string& source,
                                      const std::vector<std::string>& block, std::string& why) {
  ProposedKernel made;
  made.name = legal_name(entry.entry);
  made.source = source;
  made.entry = entry.entry;
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
  made.launches = {block.empty() ? launch_from_body({}, {}, {}, made)
                                 : launch_of_block(block, made)};
  return made;
}

}  // namespace gpuemu::cli
