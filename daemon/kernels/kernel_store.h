// The kernels of a project, each compiled once per dtype. Thread-safe.
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
  /// `cache_folder` stores compiled PTX between runs; `arch` is a name such as "sm_80". `config`
  /// must outlive the store.
  KernelStore(const Config& config, std::string cache_folder, std::string arch);

  /// Returns the compiled kernel. Compile with the compiler's own output; NotFound if an entry does
  /// not exist (the message lists the existing ones); Unsupported for binary sources (cubin,
  /// fatbin). An error in the source is detected once and returned for each of its kernels. The
  /// first kernel of a source that is not in the cache is compiled together with all others of that
  /// source that ops of the configuration launch, unless prepare_all() was called with the kernels
  /// to compile.
  Result<std::shared_ptr<const PreparedKernel>> prepare(const KernelConfig& kernel, DType dtype);

  using Wanted = std::pair<const KernelConfig*, DType>;
  /// Prepares all of them; those of one source are compiled together. prepare() returns their
  /// results and errors without delay from then on. `tell` gets the number of kernels that are
  /// ready.
  void prepare_all(const std::vector<Wanted>& wanted, const std::function<void(size_t)>& tell);

  /// Once `cancel` is true, running compilers are killed and no more are started: prepare() then
  /// returns Cancelled. `cancel` must outlive the store. REQUIRES: called before the first
  /// prepare().
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
  // Guarded by mutex_, as are the members below: compile errors by source and flags.
  std::map<std::vector<std::string>, Error> broken_;
  std::set<std::vector<std::string>> asked_;  ///< Keys of the requests that were compiled ahead.
  std::map<std::pair<std::string, DType>, Result<std::shared_ptr<const PreparedKernel>>> made_;
};

}  // namespace gpuemu
