// The meaning of names in a source: aliases of types, constants, macros, enumerations, structures
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

/// A device function that is not a template.
struct DeviceFunction {
  std::string name;  ///< With its namespaces.
  size_t params = 0;
  bool is_template = false;
};

struct Definitions {
  std::map<std::string, std::string> aliases;  ///< "floatX" -> "float"
  /// As written: "kWarp" -> "32", "x128::size" -> "sizeof(int4) / sizeof(floatX)".
  std::map<std::string, std::string> constants;
  std::map<std::string, Macro> macros;                    ///< Macros that take arguments.
  std::map<std::string, std::vector<std::string>> enums;  ///< "Op" -> {"Op::Add", "Op::Mul"}
  std::map<std::string, std::vector<StructMember>> structs;
  std::vector<DeviceVariable> variables;
  std::vector<DeviceFunction> functions;
  /// Names of function types, with their number of parameters: typedef void (*op_t)(float).
  std::map<std::string, size_t> function_types;

  /// Resolves all aliases: "floatX" -> "float".
  std::string plain_type(const std::string& name) const;
};

/// Blanks what #if, #ifdef and #ifndef exclude if only the text's own definitions exist.
std::string active_text(std::string_view text);

/// Scans text without comments.
Definitions scan_definitions(std::string_view text);

}  // namespace gpuemu::cli
