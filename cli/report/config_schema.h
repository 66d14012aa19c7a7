// JSON Schema of gpuemu.toml, made from the keys that its readers go by.
#pragma once

#include <string>

namespace gpuemu::cli {

/// Draft 07, which editors of TOML read. It knows keys, types, words and limits; what several keys
/// have to agree about, and files, `gpuemu config check` looks at.
std::string config_schema();

}  // namespace gpuemu::cli
