// Compiles CUDA C++ to PTX at run time, with NVRTC if it can be loaded, otherwise with nvcc.
// Results are cached on disk under a hash of everything that they depend on.
#pragma once

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

enum class CompilerChoice { Auto, Nvrtc, Nvcc };

struct CompileRequest {
  std::string path;    ///< A .cu file, or a .ptx file, which is used unchanged.
  std::string source;  ///< The text, if not empty; `path` then only gives its name and the folder
                       ///< for its includes.
  std::string arch = "sm_80";  ///< Target; code is generated for the virtual architecture of the
                               ///< same number.
  std::vector<std::string> include_dirs;
  std::vector<std::string> flags;  ///< In the compiler's spelling: "-DN=4", "--use_fast_math".
  /// Requested entries: "scale", "softmax<float>", "ns::scale". Templates are instantiated.
  std::vector<std::string> name_expressions;
  std::string cache_folder;  ///< Created if missing; "" disables the cache.
  CompilerChoice compiler = CompilerChoice::Auto;
  /// Accept a text kept by compile_ahead(), which also has the entries of other requests. Leave it
  /// false to measure or compare texts, which must then depend on this request alone.
  bool with_others = false;
  /// If it becomes true, nvcc is terminated and the result is Cancelled. NVRTC runs in this process
  /// and finishes its compilation first. Must outlive the request.
  const std::atomic<bool>* cancel = nullptr;
};

/// Stands in an error about a missing header, in front of what is wrong in the source without code
/// of the host.
inline constexpr std::string_view kWithoutHost = "without code of the host: ";

struct CompiledModule {
  std::string ptx;
  std::map<std::string, std::string> lowered;  ///< Each name expression's PTX entry.
  std::set<std::string> others;                ///< Entries of `ptx` that belong to other requests.
  std::string compiler;  ///< "NVRTC 13.0", "nvcc", "cache" or "none" (a .ptx file).
  /// What of the source another compiler refuses.
  std::vector<std::string> warnings = {};
};

/// Errors: Compile (the compiler's error lines as printed, with file and line), NotFound (no such
/// file, or no such entry; the message lists the entries), Unavailable (no compiler; the message
/// says how to get one).
Result<CompiledModule> compile_source(const CompileRequest& request);

/// Compiles several sets of name expressions of one source in as few compilations as possible, so
/// that compile_source() with `with_others` finds each set in the cache. Sets that do not compile
/// together with others are left out; compile_source() reports their errors. Does nothing if
/// `request.name_expressions` is not empty and already cached. Fails with Compile if the source
/// itself does not compile, and with Cancelled.
Status compile_ahead(const CompileRequest& request,
                     const std::vector<std::vector<std::string>>& sets);

}  // namespace gpuemu
