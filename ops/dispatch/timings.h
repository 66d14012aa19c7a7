// How long the variants of an op took, remembered on disk: one file per question.
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

/// Op, dtypes, device and shape class: of each operand the sizes rounded up to powers of two, and
/// whether it is contiguous.
std::string timing_question(const OpCase& c, const TypeBinding& types);

/// Any thread. A folder that cannot be written costs time in the next process, nothing else.
class Timings {
 public:
  explicit Timings(std::string folder) : folder_(std::move(folder)) {}

  /// Empty when nothing is known. A file that we did not write counts as nothing.
  VariantTimes find(const std::string& question);
  void keep(const std::string& question, const VariantTimes& times);

 private:
  std::string file_of(const std::string& question) const;

  const std::string folder_;
  std::mutex mutex_;
  std::map<std::string, VariantTimes> known_;
};

}  // namespace gpuemu
