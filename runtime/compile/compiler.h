// The common interface of the two compilers. Each takes a complete job and returns PTX.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/compile/toolkit.h"

namespace gpuemu::compile {

struct Job {
  std::string path;  ///< Absolute.
  std::string source;
  std::string arch;  ///< "compute_80"
  std::vector<std::string> include_dirs;
  std::vector<std::string> flags;
  std::vector<std::string> templates;         ///< Name expressions that must be instantiated.
  const std::atomic<bool>* cancel = nullptr;  ///< See CompileRequest.
  /// Contents of headers by the name in the #include, used instead of files on disk. NVRTC only.
  std::map<std::string, std::string> headers = {};
};

struct Output {
  std::string ptx;
  std::map<std::string, std::string> lowered;  ///< As reported by the compiler; may be empty.
  std::vector<std::string> warnings = {};      ///< See CompiledModule.
};

/// Fails with Compile as documented in compile.h, or with Unsupported if NVRTC cannot compile this
/// job (an unknown option or host header) but nvcc may.
Result<Output> run_nvrtc(const Toolkit& toolkit, const Job& job);
Result<Output> run_nvcc(const Toolkit& toolkit, const Job& job);

/// Compiles the source with NVRTC without its host code and host headers (host_code.h). If that
/// fails, compiles functions without __device__ as device functions, with a warning if a kernel
/// uses any. Fails if that cannot be compiled either.
Result<Output> run_nvrtc_without_host(const Toolkit& toolkit, const Job& job);

/// Returns for example "13.0"; Unavailable if the library cannot be loaded.
Result<std::string> nvrtc_version(const Toolkit& toolkit);

}  // namespace gpuemu::compile
