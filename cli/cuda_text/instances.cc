#include "cli/cuda_text/instances.h"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"
#include "cli/cuda_text/types.h"

namespace gpuemu::cli {
namespace {

struct TemplateParam {
  std::string type;  ///< Type of a value: "int"; "" if the parameter is a type.
  std::string name, standard;
  std::optional<size_t> function_params = {};  ///< For a function: the number of its parameters.
  bool is_type() const { return type.empty(); }
};

TemplateParam template_param(const std::string& text, const Definitions& definitions) {
  static const RE2 kFunction(R"(\(\s*[*&]\s*\w+\s*\)\s*\((.*)\)\s*$)");
  TemplateParam param;
  if (std::string list; RE2::PartialMatch(text, kFunction, &list)) {
    return {"function", declared_name(text), "", split_list(list).size()};
  }
  std::string declared = text;
  if (const size_t equals = text.find('='); equals != std::string::npos) {
    param.standard = trimmed(text.substr(equals + 1));
    declared = text.substr(0, equals);
  }
  std::vector<std::string> words = qualified_names(declared);
  std::erase(words, "const");
  if (words.size() > 1) {
    param.name = words.back();
    words.pop_back();
  }
  const bool is_type = !words.empty() && (words[0] == "typename" || words[0] == "class");
  for (const std::string& word : words) {
    if (!is_type) {
      param.type += (param.type.empty() ? "" : " ") + word;
    }
  }
  const auto function = definitions.function_types.find(param.type);
  if (function != definitions.function_types.end()) param.function_params = function->second;
  return param;
}

/// Replaces types that depend on the caller's own template by the dtype under test: "<scalar_t>"
/// becomes "<{ctype}>".
std::string with_dtype(std::string args, const Definitions& definitions) {
  for (const std::string& word : qualified_names(args)) {
    const bool is_type = !element_type(word, definitions).dtype.empty() ||
                         definitions.structs.contains(word) || definitions.constants.contains(word);
    if (!is_type) RE2::GlobalReplace(&args, R"(\b)" + RE2::QuoteMeta(word) + R"(\b)", "{ctype}");
  }
  return args;
}

/// Returns the device function that `text` names, in the namespaces `scope` or outside them; "" if
/// it names none.
std::string function_named(std::string text, const std::string& scope,
                           const Definitions& definitions) {
  if (text.starts_with("&")) text = trimmed(text.substr(1));
  std::string args;  // A function template has arguments.
  if (const size_t open = text.find('<'); open != std::string::npos) {
    args = text.substr(open);
    text = trimmed(text.substr(0, open));
  }
  for (const std::string& name : {scope + text, text}) {
    if (std::ranges::find(definitions.functions, name, &DeviceFunction::name) !=
        definitions.functions.end()) {
      return name + with_dtype(args, definitions);
    }
  }
  return {};
}

/// Returns the first function with as many parameters; "" if there is none.
std::string usual_function(size_t params, const Definitions& definitions) {
  const auto found = std::ranges::find_if(definitions.functions, [&](const DeviceFunction& one) {
    return one.params == params && !one.is_template;
  });
  return found == definitions.functions.end() ? "" : found->name;
}

/// Returns the value if it is a constant, such as "true", "-3", "Op::Add", "128"; "" if host code
/// determines it at run time.
std::string value_of(const std::string& text, const TemplateParam& param,
                     const Definitions& definitions, const HostLaunch* launch) {
  if (text == "true" || text == "false") return text;
  if (const auto values = definitions.enums.find(param.type); values != definitions.enums.end()) {
    return std::ranges::find(values->second, text) == values->second.end() ? "" : text;
  }
  Definitions known = definitions;
  if (launch != nullptr) {
    for (const auto& [name, value] : launch->locals) {
      known.constants[name] = value;
    }
  }
  if (const auto number = number_of(text, known)) {
    return param.type == "bool" ? (*number != 0 ? "true" : "false") : std::to_string(*number);
  }
  return {};
}

/// Returns the value to try if no launch determines it.
std::string usual_value(const TemplateParam& param, const Definitions& definitions,
                        const std::string& body) {
  if (!param.standard.empty()) {
    const std::string standard = value_of(param.standard, param, definitions, nullptr);
    if (!standard.empty()) return standard;
  }
  if (param.type == "bool") return "false";
  if (const auto values = definitions.enums.find(param.type);
      values != definitions.enums.end() && !values->second.empty()) {
    return values->second.front();
  }
  std::string upper = param.name;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const bool plane = body.find("threadIdx.y") != std::string::npos;
  for (const char* part : {"BLOCK", "THREAD", "TILE", "BM", "BN"}) {
    if (upper.find(part) != std::string::npos) {
      return plane ? "16" : "128";
    }
  }
  return "4";
}

/// Returns the dtype under test for a type that depends on the caller's own template; "int64" for
/// indices.
std::string usual_type(const std::string& name) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool index = lower.find("index") != std::string::npos || lower.starts_with("idx");
  return index ? "long long" : "{dtype}";
}

struct Arguments {
  std::vector<std::string> values;  ///< By parameter; "" of a type.
  std::vector<std::string> types;   ///< By parameter; "" for a value, or for a dependent type.
  std::vector<std::string> guessed;
  const HostLaunch* launch = nullptr;
};

Arguments arguments_of(const std::vector<TemplateParam>& params, const SourceKernel& kernel,
                       const Definitions& definitions, const HostLaunch* launch) {
  Arguments out;
  out.launch = launch;
  for (size_t i = 0; i < params.size(); ++i) {
    const bool given = launch != nullptr && i < launch->template_args.size();
    const std::string text = given ? launch->template_args[i] : "";
    std::string type, value;
    if (params[i].is_type()) {
      const ElementType known = element_type(text, definitions);
      if (given && !known.dtype.empty()) type = definitions.plain_type(text);
    } else {
      const auto& function = params[i].function_params;
      if (given) {
        value = function ? function_named(text, kernel.scope, definitions)
                         : value_of(text, params[i], definitions, launch);
      }
      if (value.empty() && function) {
        value = usual_function(*function, definitions);
        out.guessed.push_back(params[i].name);
      } else if (value.empty()) {
        value = usual_value(params[i], definitions, kernel.body);
        if (params[i].standard.empty()) out.guessed.push_back(params[i].name);
      }
    }
    out.types.push_back(type);
    out.values.push_back(value);
  }
  return out;
}

/// Returns the dtype if the type is a single element: for float, but not for float4.
std::string whole_dtype(const std::string& type, const Definitions& definitions) {
  const ElementType known = element_type(type, definitions);
  const bool is_struct = definitions.structs.contains(definitions.plain_type(type));
  return known.lanes == 1 && !is_struct ? known.dtype : "";
}

/// Returns whether the kernel takes numbers of this template type by value.
bool is_number(const SourceKernel& kernel, const std::string& type) {
  return std::ranges::any_of(kernel.params, [&](const SourceParam& param) {
    return !param.pointer && param.type == type;
  });
}

/// Makes one instance of launches that differ only in types.
Instance made_of(const std::vector<TemplateParam>& params, const SourceKernel& kernel,
                 const Definitions& definitions, const std::vector<Arguments>& group) {
  Instance made;
  const auto first = std::ranges::find_if(params, &TemplateParam::is_type);
  const auto leading = static_cast<size_t>(first - params.begin());
  std::string list;
  for (size_t i = 0; i < params.size(); ++i) {
    const TemplateParam& param = params[i];
    std::string written = group.front().values[i];
    if (param.is_type()) {
      const std::string type = group.front().types[i];
      const bool follows = std::ranges::all_of(
          group, [&](const Arguments& one) { return one.types[i] == one.types[leading]; });
      const bool is_dtype = type.empty() || !whole_dtype(type, definitions).empty();
      const std::string usual = type.empty() ? usual_type(param.name) : "{dtype}";
      made.types[param.name] = follows && is_dtype ? usual : type.empty() ? usual : type;
      if (made.types[param.name] == "{dtype}" && is_number(kernel, param.name)) {
        made.types[param.name] =
            type.empty() ? "float" : type;  // A launch names its numbers' types.
      }
      written = made.types[param.name] == "{dtype}" ? "{ctype}" : made.types[param.name];
    } else {
      made.values[param.name] = written;
    }
    list += (list.empty() ? "" : ", ") + written;
  }
  // A function that is no template is found by its name, whatever its namespace.
  made.entry =
      params.empty() ? kernel.name : fmt::format("{}{}<{}>", kernel.scope, kernel.name, list);
  made.guessed = group.front().guessed;
  bool open = false;
  for (const Arguments& one : group) {
    if (one.launch != nullptr) made.launches.push_back(one.launch);
    if (leading == params.size()) continue;
    const std::string dtype = whole_dtype(one.types[leading], definitions);
    open = open || one.types[leading].empty();
    if (!dtype.empty() && std::ranges::find(made.dtypes, dtype) == made.dtypes.end()) {
      made.dtypes.push_back(dtype);
    }
  }
  if (open) made.dtypes.clear();
  // The type is written out, so there is only one dtype.
  if (leading < params.size()) {
    const std::string type = made.types[params[leading].name];
    const std::string dtype = type == "{dtype}" ? "" : whole_dtype(type, definitions);
    if (!dtype.empty()) made.dtypes = {dtype};
  }
  return made;
}

}  // namespace

std::vector<Instance> instances_of(const SourceKernel& kernel, const Definitions& definitions,
                                   const std::vector<HostLaunch>& launches) {
  std::vector<TemplateParam> params;
  for (const std::string& text : kernel.template_params) {
    params.push_back(template_param(text, definitions));
  }
  std::vector<std::vector<Arguments>> groups;
  const auto add = [&](const HostLaunch* launch) {
    Arguments made = arguments_of(params, kernel, definitions, launch);
    const auto same = std::ranges::find_if(groups, [&](const std::vector<Arguments>& group) {
      return group.front().values == made.values;
    });
    if (same != groups.end()) {
      same->push_back(std::move(made));
    } else if (groups.size() < kInstancesMax) {
      groups.push_back({std::move(made)});
    }
  };
  for (const HostLaunch& launch : launches) {
    if (launch.kernel == kernel.name) {
      add(&launch);
    }
  }
  if (groups.empty()) add(nullptr);
  std::vector<Instance> all;
  for (const std::vector<Arguments>& group : groups) {
    Instance made = made_of(params, kernel, definitions, group);
    if (groups.size() > 1) {
      // Values that differ between the groups.
      for (size_t i = 0; i < params.size(); ++i) {
        const bool differs = std::ranges::any_of(groups, [&](const std::vector<Arguments>& other) {
          return other.front().values[i] != group.front().values[i];
        });
        std::string value = group.front().values[i];
        if (const size_t colons = value.rfind(':'); colons != std::string::npos) {
          value = value.substr(colons + 1);
        }
        if (differs) made.suffix += (made.suffix.empty() ? "" : "_") + value;
      }
    }
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace gpuemu::cli
