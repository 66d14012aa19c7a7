// Stores the verdicts of earlier runs beside the results, under the hash of what they depend on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/protocol/ci.gen.h"
#include "daemon/ci/fingerprint.h"
#include "daemon/storage/store.h"

namespace gpuemu {

/// The verdict on an op, with the results of its cases.
struct KeptVerdict {
  CiOp op;
  std::vector<ValidationResult> results;
  std::vector<std::string> notes = {};  ///< Names the variants that ran, and why.
};

/// Stores only successes: what failed runs again. Thread-safe.
class VerdictCache {
 public:
  explicit VerdictCache(Store& store) : store_(store) {}

  /// Returns the verdict on the op under this key, marked as cached, if the files that its
  /// reference read still have the recorded content.
  std::optional<KeptVerdict> op(const std::string& name, DType dtype, const std::string& key);
  /// Stores a verdict. `reads` are the files that the reference read.
  Status keep(const KeptVerdict& verdict, const std::string& key,
              const std::vector<FileContent>& reads);
  /// Returns the measurements of a kernel under this key.
  std::optional<std::vector<LintResult>> kernel(const std::string& name, const std::string& key);
  Status keep(const std::string& name, const std::vector<LintResult>& results,
              const std::string& key);

 private:
  std::optional<std::string> text(const std::string& name, const std::string& key);
  Store& store_;
};

}  // namespace gpuemu
