// What the names of a source mean: aliases of types, constants, macros, enumerations, structures
// and variables of the device.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuemu::cli {

struct StructMember {
  std::string type, name;
  std::string count;  ///< Length of an array, as written; "" for one value.
  bool pointer = false;
};

struct Macro {
  std::vector<std::string> params;
  std::string body;
};

struct DeviceVariable {
  std::string type, name;
  std::string count;  ///< "" for one value.
  bool is_constant = false;
  bool initialised = false;
};

struct Definitions {
  std::map<std::string, std::string> aliases;             ///< "floatX" -> "float"
  std::map<std::string, std::string> constants;           ///< "kWarp" -> "32", as written.
  std::map<std::string, Macro> macros;                    ///< Macros that take arguments.
  std::map<std::string, std::vector<std::string>> enums;  ///< "Op" -> {"Op::Add", "Op::Mul"}
  std::map<std::string, std::vector<StructMember>> structs;
  std::vector<DeviceVariable> variables;

  /// Through all aliases: "floatX" -> "float".
  std::string plain_type(const std::string& name) const;
};

/// Blanks what #if, #ifdef and #ifndef leave out where nothing else is defined than the text does.
std::string active_text(std::string_view text);

/// Reads text without comments.
Definitions scan_definitions(std::string_view text);

}  // namespace gpuemu::cli
