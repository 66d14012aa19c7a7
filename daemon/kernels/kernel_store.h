// Kernels of a project, compiled once per dtype. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "daemon/kernels/prepared_kernel.h"

namespace gpuemu {

struct Config;
struct KernelConfig;

struct CompileRequest;

class KernelStore {
 public:
  /// `cache_folder` keeps compiled PTX between runs; `arch` is "sm_80" and the like. `config` must
  /// outlive the store.
  KernelStore(const Config& config, std::string cache_folder, std::string arch);

  /// Compile with the compiler's own lines; NotFound when an entry does not exist (the message
  /// lists those there are); Unsupported for sources that are no text (cubin, fatbin).
  /// What its source alone is to blame for is found once, and said of each of its kernels. The
  /// first of a source that is not in the cache is compiled together with all that ops of the
  /// configuration launch of it, unless prepare_all() was told which are wanted.
  Result<std::shared_ptr<const PreparedKernel>> prepare(const KernelConfig& kernel, DType dtype);

  using Wanted = std::pair<const KernelConfig*, DType>;
  /// Prepares all of them; those of one source are compiled together. Problems are those of
  /// prepare(), which answers at once from now on. `tell` hears how many are ready.
  void prepare_all(const std::vector<Wanted>& wanted, const std::function<void(size_t)>& tell);

  /// Compilers are ended, and none is started, once `cancel` is true: prepare() is Cancelled then.
  /// `cancel` must outlive the store. Before the first prepare().
  void stop_when(const std::atomic<bool>& cancel) { cancel_ = &cancel; }
  const std::atomic<bool>* cancel() const { return cancel_; }

 private:
  Result<std::shared_ptr<const PreparedKernel>> make(const KernelConfig& kernel, DType dtype);
  CompileRequest request_for(const KernelConfig& kernel, DType dtype) const;
  std::vector<Wanted> sharing(const CompileRequest& request) const;
  // REQUIRE: mutex_ is held.
  void compile_ahead_of(const std::vector<Wanted>& wanted, const CompileRequest& first);
  void compile_with_others(const KernelConfig& kernel, DType dtype);

  const Config& config_;
  const std::string cache_folder_;
  const std::string arch_;
  const std::atomic<bool>* cancel_ = nullptr;
  std::mutex mutex_;
  // Guarded by mutex_, as is what follows: by source and flags, why it does not compile.
  std::map<std::vector<std::string>, Error> broken_;
  std::set<std::vector<std::string>> asked_;  ///< Keys of what was compiled ahead.
  std::map<std::pair<std::string, DType>, Result<std::shared_ptr<const PreparedKernel>>> made_;
};

}  // namespace gpuemu
