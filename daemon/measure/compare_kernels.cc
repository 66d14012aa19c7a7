#include "daemon/measure/compare_kernels.h"

#include <filesystem>

#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/config/source_kind.h"
#include "judge/metrics/semantic_diff.h"
#include "runtime/compile/compile.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

Result<ptx::Module> module_of(const Config& config, const KernelFiles& files,
                              const std::string& path) {
  std::error_code ignored;
  if (!path.starts_with("/") || !std::filesystem::is_regular_file(path, ignored)) {
    return error(ErrorCode::InvalidArgument,
                 "'{}': expected the absolute path of a file that is there", path);
  }
  if (source_kind(path) != SourceKind::Cuda) {
    return ptx::parse(GPUEMU_TRY(read_file(path, kSourceBytesMax)), path);
  }
  CompileRequest request;
  request.path = path;
  request.arch = files.arch;
  request.include_dirs = config.include_dirs;
  request.flags = {"-lineinfo"};
  request.cache_folder = files.cache_folder;
  const CompiledModule compiled = GPUEMU_TRY(compile_source(request));
  return ptx::parse(compiled.ptx, path);
}

}  // namespace

Result<KernelComparisonReply> compare_kernels(const Config& config, const KernelFiles& files) {
  const ptx::Module before = GPUEMU_TRY(module_of(config, files, files.before));
  const ptx::Module after = GPUEMU_TRY(module_of(config, files, files.after));
  KernelComparisonReply reply = compare_modules(before, after);
  reply.before = files.before;
  reply.after = files.after;
  return reply;
}

}  // namespace gpuemu
