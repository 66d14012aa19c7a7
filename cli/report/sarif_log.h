// Private to this folder: a SARIF 2.1.0 document in the form that code scanning services accept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpuemu::cli {

struct SarifPlace {
  std::string file;
  uint32_t line = 1;
};

/// One step on the way to a finding.
struct SarifStep {
  SarifPlace place;
  std::string text;  ///< "launched at main"
};

struct SarifFinding {
  std::string rule;                            ///< "lint/ExcessiveRegisters"
  std::string message;                         ///< Converted to one clean line.
  std::string name;                            ///< Name of the op or kernel.
  SarifPlace place;                            ///< Without a file, the finding has only its name.
  std::string fingerprint, fingerprint_value;  ///< For example "kindAndKernel" and its value.
  std::string level = "error";                 ///< Or "warning", "note".
  std::vector<std::vector<SarifStep>> flows = {};   ///< Stacks, each from the outermost call.
  std::optional<SarifStep> related = std::nullopt;  ///< The other access of a pair.
  /// Why the finding is accepted, "" if it is not; nothing if findings cannot be accepted.
  std::optional<std::string> accepted = std::nullopt;
  /// Fingerprints under names that published readers know.
  std::map<std::string, std::string> more_fingerprints = {};
};

class SarifLog {
 public:
  /// Paths below `folder` are relative to it.
  explicit SarifLog(std::string folder);
  ~SarifLog();
  void add(const SarifFinding& finding);
  /// Adds information for the reader that belongs to no location.
  void note(const std::string& text);
  std::string text() const;

 private:
  std::string folder_;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace gpuemu::cli
