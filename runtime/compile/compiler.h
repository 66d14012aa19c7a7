// What the two compilers have in common. Each takes a complete job and gives PTX.
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
  /// Headers that stand for those on disk, by the name in the #include; NVRTC alone takes them.
  std::map<std::string, std::string> headers = {};
};

struct Output {
  std::string ptx;
  std::map<std::string, std::string> lowered;  ///< What the compiler itself says; may be empty.
};

/// Compile errors as documented in compile.h; Unsupported when NVRTC cannot serve this job (an
/// option or a host header that it does not know) and nvcc may.
Result<Output> run_nvrtc(const Toolkit& toolkit, const Job& job);
Result<Output> run_nvcc(const Toolkit& toolkit, const Job& job);

/// What NVRTC makes of the source without code and headers of the host (host_code.h); run_nvrtc()'s
/// error where that cannot be compiled either.
Result<Output> run_nvrtc_without_host(const Toolkit& toolkit, const Job& job);

/// "13.0"; Unavailable when the library cannot be loaded.
Result<std::string> nvrtc_version(const Toolkit& toolkit);

}  // namespace gpuemu::compile
