// NVRTC, loaded on first use. The signatures of the ten functions used are NVRTC's ABI, so the
// build needs no header of the toolkit.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include <dlfcn.h>

#include "common/base/limits.h"
#include "runtime/compile/compiler.h"
#include "runtime/compile/diagnostics.h"
#include "runtime/compile/nvcc_flags.h"
#include "runtime/compile/nvrtc_headers.h"
#include "runtime/compile/source_text/default_device.h"
#include "runtime/compile/source_text/entry_names.h"
#include "runtime/compile/source_text/host_code.h"
#include "runtime/compile/source_text/includes.h"

namespace gpuemu::compile {
namespace {

using Program = struct OpaqueProgram*;
constexpr int kSuccess = 0;
constexpr int kInvalidOption = 5;
constexpr int kCompilationFailed = 6;

struct Library {
  int (*version)(int*, int*);
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy)(Program*);
  int (*compile)(Program, int, const char* const*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  int (*ptx_size)(Program, size_t*);
  int (*ptx)(Program, char*);
  int (*add_name)(Program, const char*);
  int (*lowered_name)(Program, const char*, const char**);
  const char* (*message)(int);
};

template <typename Function>
Status find(void* handle, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(handle, name));
  if (into != nullptr) return {};
  return error(ErrorCode::Unavailable,
               "NVRTC has no '{}': version 13 is needed; run scripts/setup.sh", name);
}

/// Opens NVRTC's built-in headers by path. NVRTC opens them by bare name, which would find them
/// only in the loader's folders.
void open_builtins(const std::string& nvrtc) {
  std::error_code failed;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(nvrtc).parent_path(), failed)) {
    const std::string name = file.path().filename();
    // There may be two releases of one major version; opening the other one is harmless.
    if (name.starts_with("libnvrtc-builtins.so.13.")) {
      ::dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    }
  }
}

/// The handle stays open until the process ends, because the library keeps internal state.
Result<Library> load(const Toolkit& toolkit) {
  if (toolkit.nvrtc.empty()) {
    return error(ErrorCode::Unavailable,
                 "no libnvrtc.so.13; run scripts/setup.sh or set CUDA_HOME");
  }
  open_builtins(toolkit.nvrtc);
  void* handle = ::dlopen(toolkit.nvrtc.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return error(ErrorCode::Unavailable, "{}", ::dlerror());
  Library library{};
  GPUEMU_TRY(find(handle, "nvrtcVersion", library.version));
  GPUEMU_TRY(find(handle, "nvrtcCreateProgram", library.create));
  GPUEMU_TRY(find(handle, "nvrtcDestroyProgram", library.destroy));
  GPUEMU_TRY(find(handle, "nvrtcCompileProgram", library.compile));
  GPUEMU_TRY(find(handle, "nvrtcGetProgramLogSize", library.log_size));
  GPUEMU_TRY(find(handle, "nvrtcGetProgramLog", library.log));
  GPUEMU_TRY(find(handle, "nvrtcGetPTXSize", library.ptx_size));
  GPUEMU_TRY(find(handle, "nvrtcGetPTX", library.ptx));
  GPUEMU_TRY(find(handle, "nvrtcAddNameExpression", library.add_name));
  GPUEMU_TRY(find(handle, "nvrtcGetLoweredName", library.lowered_name));
  GPUEMU_TRY(find(handle, "nvrtcGetErrorString", library.message));
  return library;
}

std::vector<std::string> options_of(const Toolkit& toolkit, const Job& job) {
  std::vector<std::string> out = {"--gpu-architecture=" + job.arch, "--generate-line-info",
                                  fmt::format("--pre-include={}", kPrelude)};
  bool has_standard = false;
  for (const std::string& flag : flags_for_nvrtc(job.flags)) {
    has_standard = has_standard || flag.starts_with("-std") || flag.starts_with("--std");
    if (flag != "-lineinfo" && flag != "--generate-line-info") out.push_back(flag);
  }
  if (!has_standard) out.push_back("--std=c++17");
  for (const std::string& folder : job.include_dirs) out.push_back("-I" + folder);
  for (const std::string& folder : toolkit.include_dirs) out.push_back("-I" + folder);
  return out;
}

std::string log_of(const Library& library, Program program) {
  size_t bytes = 0;
  if (library.log_size(program, &bytes) != kSuccess || bytes <= 1) return {};
  std::string log(bytes, '\0');
  if (library.log(program, log.data()) != kSuccess) return {};
  log.resize(bytes - 1);
  return log;
}

/// Returns Unsupported where nvcc may succeed: it knows the host's headers, and options of its own.
Error failure(const Library& library, int code, const std::string& log) {
  if (code == kInvalidOption || code == kCompilationFailed) {
    return error(ErrorCode::Unsupported, "{}",
                 log.empty() ? library.message(code) : source_errors(log));
  }
  return error(ErrorCode::Internal, "NVRTC: {}", library.message(code));
}

}  // namespace

Result<std::string> nvrtc_version(const Toolkit& toolkit) {
  const Library library = GPUEMU_TRY(load(toolkit));
  int major = 0, minor = 0;
  library.version(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

namespace {

/// Whether only errors are needed, or also PTX.
enum class Wanted { Errors, Ptx };

/// Sets `log` to the compiler's messages if it fails.
Result<Output> run_program(const Library& library, const Toolkit& toolkit, const Job& job,
                           Wanted wanted, std::string& log) {
  Program program = nullptr;
  std::vector<const char*> texts, names;
  for (const auto& [name, text] : job.headers) {
    texts.push_back(text.c_str());
    names.push_back(name.c_str());
  }
  for (const VirtualHeader& header : virtual_headers()) {
    texts.push_back(header.text);
    names.push_back(header.name);
  }
  int code = library.create(&program, job.source.c_str(), job.path.c_str(),
                            static_cast<int>(names.size()), texts.data(), names.data());
  if (code != kSuccess) return error(ErrorCode::Internal, "NVRTC: {}", library.message(code));
  const auto destroy = [&library](Program* dead) { library.destroy(dead); };
  const std::unique_ptr<Program, decltype(destroy)> owner(&program, destroy);
  // With plain type names: NVRTC has no int32_t unless the source includes it.
  for (const std::string& name : job.templates) {
    code = library.add_name(program, normalised(name).c_str());
    if (code != kSuccess) {
      return error(ErrorCode::InvalidArgument, "entry '{}': {}", name, library.message(code));
    }
  }
  std::vector<std::string> options = options_of(toolkit, job);
  if (wanted == Wanted::Errors) options.emplace_back("-fdevice-syntax-only");
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  code = library.compile(program, static_cast<int>(words.size()), words.data());
  if (code != kSuccess) {
    log = log_of(library, program);
    return failure(library, code, log);
  }
  Output out;
  if (wanted == Wanted::Errors) return out;
  size_t bytes = 0;
  if (library.ptx_size(program, &bytes) != kSuccess || bytes == 0 || bytes > kSourceBytesMax) {
    return error(ErrorCode::Internal, "NVRTC gave {} bytes of PTX, at most {} are taken", bytes,
                 kSourceBytesMax);
  }
  out.ptx.resize(bytes);
  if (library.ptx(program, out.ptx.data()) != kSuccess) {
    return error(ErrorCode::Internal, "NVRTC gave no PTX");
  }
  out.ptx.resize(bytes - 1);  // Removes the terminator.
  for (const std::string& name : job.templates) {
    const char* lowered = nullptr;
    if (library.lowered_name(program, normalised(name).c_str(), &lowered) == kSuccess) {
      out.lowered[name] = lowered;
    }
  }
  return out;
}

Result<Output> run_logged(const Library& library, const Toolkit& toolkit, const Job& job,
                          std::string& log) {
  if (!job.templates.empty()) {
    // NVRTC 13.0 crashes if name expressions are added to a text with certain errors, such as a
    // `half` without its header. So compile without them first.
    Job plain = job;
    plain.templates.clear();
    GPUEMU_TRY(run_program(library, toolkit, plain, Wanted::Errors, log));
  }
  return run_program(library, toolkit, job, Wanted::Ptx, log);
}

/// Returns a warning of what nvcc would refuse in a job that NVRTC only compiles with
/// -default-device; "" if it would refuse nothing. `log` holds NVRTC's messages without that
/// option.
std::string warning_of(const Library& library, const Toolkit& toolkit, Job job,
                       const std::string& log) {
  auto unmarked = unmarked_in(log);
  if (unmarked && relaxes_constexpr(job.flags)) {
    std::erase_if(*unmarked, [](const Unmarked& one) { return one.is_constexpr; });
  }
  if (unmarked && unmarked->empty()) return {};
  job.flags.emplace_back("-G");
  std::string ignored;
  const auto unoptimised = run_logged(library, toolkit, job, ignored);
  if (!unmarked || !unoptimised) return about_unmarked(nullptr, job.path);
  std::vector<std::string_view> texts = {job.source};
  for (const auto& [name, text] : job.headers) texts.emplace_back(text);
  const auto used = used_by_device_code(unoptimised->ptx, texts, *unmarked);
  if (!used) return about_unmarked(nullptr, job.path);
  return used->empty() ? "" : about_unmarked(&*used, job.path);
}

}  // namespace

Result<Output> run_nvrtc(const Toolkit& toolkit, const Job& job) {
  const Library library = GPUEMU_TRY(load(toolkit));
  std::string ignored;
  return run_logged(library, toolkit, job, ignored);
}

Result<Output> run_nvrtc_without_host(const Toolkit& toolkit, const Job& job) {
  Job left = job;
  left.source = without_host_code(job.source);
  std::vector<std::string> hosts = host_headers(job.source);
  std::vector<std::string> folders = job.include_dirs;
  std::ranges::copy(include_dirs_of(job.flags), std::back_inserter(folders));
  std::vector<std::string> sources = {job.source};
  for (const IncludedText& own : included_texts(job.path, job.source, folders)) {
    // NVRTC takes the name of a header for one in the working folder.
    left.headers[own.name] =
        fmt::format("#line 1 \"{}\"\n", own.path) + without_host_code(own.text);
    std::ranges::copy(host_headers(own.text), std::back_inserter(hosts));
    sources.push_back(own.text);
  }
  for (const std::string& name : hosts) left.headers[name] = stand_in(name, sources);
  const Library library = GPUEMU_TRY(load(toolkit));
  std::string log, ignored;
  auto marked = run_logged(library, toolkit, left, log);
  if (marked || marked.error().code != ErrorCode::Unsupported) return marked;
  // Unlike nvcc, NVRTC refuses `constexpr` functions and members of types that only the host calls.
  left.flags.emplace_back("-default-device");
  Output output = GPUEMU_TRY(run_logged(library, toolkit, left, ignored));
  std::string warning = warning_of(library, toolkit, left, log);
  if (!warning.empty()) output.warnings.push_back(std::move(warning));
  return output;
}

}  // namespace gpuemu::compile
