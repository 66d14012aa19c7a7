// Measured times of an op's variants, kept on disk in one file per question.
//
//   file := "gpuemu-timings 1" NL  question NL  (variant TAB module_hash TAB microseconds NL)*
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "kernels/op.h"
#include "ops/dispatch/type_binding.h"

namespace gpuemu {

struct VariantTime {
  std::string module_hash;
  double microseconds = 0;
};
using VariantTimes = std::map<std::string, VariantTime>;  ///< By variant.

/// Returns the key of a measurement: op, dtypes, device and shape class. The class contains for
/// each operand its sizes rounded up to powers of two, and whether it is contiguous.
std::string timing_question(const OpCase& c, const TypeBinding& types);

/// Thread-safe. An unwritable folder only costs time in the next process.
class Timings {
 public:
  explicit Timings(std::string folder) : folder_(std::move(folder)) {}

  /// Returns an empty map if nothing is known. Ignores a file that gpuemu did not write.
  VariantTimes find(const std::string& question);
  void keep(const std::string& question, const VariantTimes& times);

 private:
  std::string file_of(const std::string& question) const;

  const std::string folder_;
  std::mutex mutex_;
  std::map<std::string, VariantTimes> known_;
};

}  // namespace gpuemu
