#include "runtime/emulator/program/check_sizes.h"

#include <charconv>

#include "common/base/limits.h"

namespace gpuemu::emulator {
namespace {

/// An upper limit of the bytes of consecutive variables, each aligned to a multiple of its
/// alignment.
class Sum {
 public:
  Sum(const std::string& module, uint64_t most, std::string what)
      : module_(module), most_(most), what_(std::move(what)) {}

  Status add(const ptx::Variable& variable) {
    const uint64_t align = std::max<uint64_t>(1, variable.align);
    bytes_ = (bytes_ + align - 1) / align * align + variable.bytes;
    if (bytes_ <= most_) return ok_status();
    return error(ErrorCode::Compile,
                 "{}:{}: with '{}' {} have {} bytes, a GPU has at most {}; make them smaller",
                 module_, variable.where.line, variable.name, what_, bytes_, most_);
  }

 private:
  const std::string& module_;
  uint64_t most_;
  std::string what_;
  uint64_t bytes_ = 0;
};

/// Since .version 8.1 an entry may have more parameters.
uint32_t entry_params_max(const std::string& version) {
  uint32_t major = 0, minor = 0;
  const char* end = version.data() + version.size();
  const auto dot = std::from_chars(version.data(), end, major).ptr;
  if (dot < end) std::from_chars(dot + 1, end, minor);
  return major > 8 || (major == 8 && minor >= 1) ? kEntryParamsMax : kEntryParamsMaxBefore81;
}

Status check_function(const ptx::Module& module, const ptx::Function& function, Sum& shared,
                      const std::string& name) {
  Sum params(name, function.is_entry ? entry_params_max(module.version) : kFunctionParamsMax,
             "the parameters of '" + function.name + "'");
  for (const ptx::Variable& variable : function.params) GPUEMU_TRY(params.add(variable));
  for (const ptx::Variable& variable : function.results) GPUEMU_TRY(params.add(variable));
  Sum calls(name, kFunctionParamsMax, "the arguments of all calls in '" + function.name + "'");
  Sum local(name, kLocalBytesMax, "the .local variables of '" + function.name + "'");
  for (const ptx::Variable& variable : function.variables) {
    if (variable.space == ptx::Space::Param) GPUEMU_TRY(calls.add(variable));
    if (variable.space == ptx::Space::Local) GPUEMU_TRY(local.add(variable));
    if (variable.space == ptx::Space::Shared) GPUEMU_TRY(shared.add(variable));
  }
  return ok_status();
}

}  // namespace

Status check_sizes(const ptx::Module& module, const std::string& name) {
  Sum shared(name, kModuleSharedMax, "the .shared variables of the module");
  for (const ptx::Variable& variable : module.variables) {
    if (variable.space == ptx::Space::Shared) GPUEMU_TRY(shared.add(variable));
  }
  for (const ptx::Function& function : module.functions) {
    GPUEMU_TRY(check_function(module, function, shared, name));
  }
  return ok_status();
}

Status check_frames(const Program& program, const std::string& name) {
  for (const Code& code : program.functions) {
    if (code.frame_bytes > kFrameBytesMax) {
      return error(
          ErrorCode::ResourceExhausted,
          "{}:{}: '{}' needs more than {} bytes of registers per warp, the limit; split it", name,
          code.source->where.line, code.name, kFrameBytesMax);
    }
  }
  return ok_status();
}

}  // namespace gpuemu::emulator
