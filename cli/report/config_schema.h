// JSON Schema of gpuemu.toml, generated from the keys that its readers use.
#pragma once

#include <string>

namespace gpuemu::cli {

/// Returns the schema in Draft 07, which TOML editors support. It covers keys, types, words and
/// limits; `gpuemu config check` also checks consistency between keys, and files.
std::string config_schema();

}  // namespace gpuemu::cli
