// CUDA C++ to PTX at run time: through NVRTC where it can be loaded, else through nvcc. What was
// compiled once is kept on disk under the hash of everything that went into it.
#pragma once

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

enum class CompilerChoice { Auto, Nvrtc, Nvcc };

struct CompileRequest {
  std::string path;    ///< A .cu file, or a .ptx file, which is read as it is.
  std::string source;  ///< When not empty: the text; `path` is only its name and the folder of its
                       ///< includes.
  std::string arch = "sm_80";  ///< Code is made for the virtual architecture of the same number.
  std::vector<std::string> include_dirs;
  std::vector<std::string> flags;  ///< As the compiler spells them: "-DN=4", "--use_fast_math".
  /// Entries that are wanted: "scale", "softmax<float>", "ns::scale". Templates are instantiated.
  std::vector<std::string> name_expressions;
  std::string cache_folder;  ///< Created when missing; "" keeps nothing.
  CompilerChoice compiler = CompilerChoice::Auto;
  /// A text that compile_ahead() kept will do, which has the entries of other requests too. Whoever
  /// measures or compares texts wants one that depends on nothing but this request.
  bool with_others = false;
  /// When it turns true nvcc is ended and the answer is Cancelled; NVRTC, which runs in this
  /// process, ends what it compiles first. Outlives the request.
  const std::atomic<bool>* cancel = nullptr;
};

struct CompiledModule {
  std::string ptx;
  std::map<std::string, std::string> lowered;  ///< Each name expression to its PTX entry.
  std::set<std::string> others;                ///< Entries of `ptx` that other requests wanted.
  std::string compiler;  ///< "NVRTC 13.0", "nvcc", "cache" or "none" (a .ptx file).
};

/// Compile: the compiler's error lines, with file and line as it printed them. NotFound: no such
/// file, or no such entry (the message lists those there are). Unavailable: no compiler, with the
/// remedy.
Result<CompiledModule> compile_source(const CompileRequest& request);

/// Compiles several sets of name expressions of one source together, as few times as it can, so
/// that compile_source() finds each set in the cache when it is asked `with_others`. Sets that do
/// not compile with the others are left out: compile_source() says what is wrong with them. Compile
/// when the source itself does not compile, whatever is asked of it; Cancelled.
/// Nothing is done when `request.name_expressions` are some and are in the cache already.
Status compile_ahead(const CompileRequest& request,
                     const std::vector<std::vector<std::string>>& sets);

}  // namespace gpuemu
