// Verdicts of earlier runs, kept beside the results under the hash of what they depend on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/protocol/ci.h"
#include "daemon/ci/fingerprint.h"
#include "daemon/storage/store.h"

namespace gpuemu {

/// What an op came to, with the results of its cases.
struct KeptVerdict {
  CiOp op;
  std::vector<ValidationResult> results;
};

/// Only success is kept: what failed runs again. Thread-safe.
class VerdictCache {
 public:
  explicit VerdictCache(Store& store) : store_(store) {}

  /// What the op came to under this key, marked as cached, when the files that its reference read
  /// have the content of then.
  std::optional<KeptVerdict> op(const std::string& name, DType dtype, const std::string& key);
  /// `reads`: of its reference.
  Status keep(const KeptVerdict& verdict, const std::string& key,
              const std::vector<FileContent>& reads);
  /// The measurements of a kernel under this key.
  std::optional<std::vector<LintResult>> kernel(const std::string& name, const std::string& key);
  Status keep(const std::string& name, const std::vector<LintResult>& results,
              const std::string& key);

 private:
  std::optional<std::string> text(const std::string& name, const std::string& key);
  Store& store_;
};

}  // namespace gpuemu
