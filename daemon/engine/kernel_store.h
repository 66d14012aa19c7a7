// Kernels of a project, compiled once per dtype. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/config/config.h"
#include "daemon/engine/build_plan.h"

namespace gpuemu {

class KernelStore {
 public:
  /// `cache_folder` keeps compiled PTX between runs; `arch` is "sm_80" and the like. `config` must
  /// outlive the store.
  KernelStore(const Config& config, std::string cache_folder, std::string arch);

  /// Compile with the compiler's own lines; NotFound when an entry does not exist (the message
  /// lists those there are); Unsupported for sources that are no text (cubin, fatbin).
  Result<std::shared_ptr<const PreparedKernel>> prepare(const KernelConfig& kernel, DType dtype);

 private:
  Result<std::shared_ptr<const PreparedKernel>> make(const KernelConfig& kernel, DType dtype) const;

  const Config& config_;
  const std::string cache_folder_;
  const std::string arch_;
  std::mutex mutex_;
  std::map<std::pair<std::string, DType>, Result<std::shared_ptr<const PreparedKernel>>> made_;
};

}  // namespace gpuemu
