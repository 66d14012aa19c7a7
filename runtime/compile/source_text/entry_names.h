// Maps a user's name of a kernel to its PTX name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::compile {

/// Returns all .entry names in order of appearance.
std::vector<std::string> ptx_entries(std::string_view ptx);

/// Demangles an entry: "_Z5scaleIfEvPT_" -> "scale<float>", without result type, arguments and
/// superfluous spaces, and with plain types ("int32_t" -> "int"). A name that is not mangled is
/// returned unchanged.
std::string plain_name(const std::string& entry);
/// Returns the types of an entry's parameters: "float const*" and "int" for "_Z5scalePKfi". Empty
/// for a name that is not mangled.
std::vector<std::string> parameter_types(const std::string& entry);
/// Converts a user's spelling to that of plain_name().
std::string normalised(std::string_view expression);

/// Finds the entry of each expression. Names reported by the compiler (`known`) take precedence.
/// NotFound lists the entries, and the templates of `source`; InvalidArgument if two entries match.
Result<std::map<std::string, std::string>> resolve_entries(
    const std::vector<std::string>& expressions, std::string_view ptx, std::string_view source,
    const std::map<std::string, std::string>& known);

/// Returns "a, b, c": the entries of `ptx` by their plain names, then kernels that only `source`
/// has. If there are many, the nearest to `wanted` and the number of the others.
std::string describe_entries(std::string_view ptx, std::string_view source,
                             const std::string& wanted);

}  // namespace gpuemu::compile
