// From what a user calls a kernel to what PTX calls it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::compile {

/// All .entry names in order of appearance.
std::vector<std::string> ptx_entries(std::string_view ptx);

/// "_Z5scaleIfEvPT_" -> "scale<float>": demangled, without result and arguments, without needless
/// spaces, types spelled plainly ("int32_t" -> "int"). A name that is not mangled stays as it is.
std::string plain_name(const std::string& entry);
/// Spells what a user writes as plain_name() does.
std::string normalised(std::string_view expression);

/// The entry for each expression. `known` is what the compiler itself said, which goes before.
/// NotFound lists the entries and the templates of `source`; InvalidArgument when two entries fit.
Result<std::map<std::string, std::string>> resolve_entries(
    const std::vector<std::string>& expressions, std::string_view ptx, std::string_view source,
    const std::map<std::string, std::string>& known);

/// "a, b, c": the entries of `ptx` by their plain names, then kernels that only `source` names. Of
/// many those nearest to `wanted`, and how many more there are.
std::string describe_entries(std::string_view ptx, std::string_view source,
                             const std::string& wanted);

}  // namespace gpuemu::compile
