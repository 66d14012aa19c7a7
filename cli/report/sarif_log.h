// Private to this folder: a SARIF 2.1.0 document in the form that code scanning services take.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

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
  explicit SarifLog(std::string folder);
  ~SarifLog();
  void add(const SarifFinding& finding);
  /// What the reader should know and no place has.
  void note(const std::string& text);
  std::string text() const;

 private:
  std::string folder_;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace gpuemu::cli
