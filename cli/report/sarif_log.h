// Private to this folder: a SARIF 2.1.0 document in the form that code scanning services take.
#pragma once

#include <set>
#include <string>

#include <nlohmann/json.hpp>

namespace gpuemu::cli {

struct SarifPlace {
  std::string file;
  uint32_t line = 1;
};

struct SarifFinding {
  std::string rule;     ///< "lint/ExcessiveRegisters"
  std::string message;  ///< Made one clean line.
  std::string name;     ///< Name of the op or kernel.
  SarifPlace place;
  std::string fingerprint, fingerprint_value;  ///< "kindAndKernel" and what it is.
};

class SarifLog {
 public:
  /// Paths below `folder` are relative to it.
  explicit SarifLog(std::string folder) : folder_(std::move(folder)) {}
  void add(const SarifFinding& finding);
  /// What the reader should know and no place has.
  void note(const std::string& text);
  std::string text() const;

 private:
  std::string folder_;
  nlohmann::json results_ = nlohmann::json::array();
  nlohmann::json notes_ = nlohmann::json::array();
  std::set<std::string> rules_;
};

}  // namespace gpuemu::cli
