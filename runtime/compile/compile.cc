// The order of things: source, cache, compiler, entries.
#include "runtime/compile/compile.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>

#include "common/base/blake2.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "runtime/compile/compiler.h"
#include "runtime/compile/entry_names.h"
#include "runtime/compile/includes.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;
using compile::Job;
using compile::Output;
using compile::Toolkit;

/// The last line of a cached file: the hash of everything before it. A file that was cut, changed
/// or read while it was written does not have it, and is compiled anew.
constexpr std::string_view kHashMark = "// gpuemu-hash\t";
/// Behind the PTX in a cached file, one line per template: what the compiler called it.
constexpr std::string_view kNameMark = "// gpuemu-entry\t";
/// Part of the key: another layout of cached files gets another number.
constexpr std::string_view kCacheFormat = "gpuemu-ptx-3";

Result<std::string> virtual_arch(const std::string& arch) {
  const std::string number = arch.starts_with("sm_")        ? arch.substr(3)
                             : arch.starts_with("compute_") ? arch.substr(8)
                                                            : "";
  const bool digits =
      number.size() >= 2 && number.find_first_not_of("0123456789af") == std::string::npos;
  if (!digits) {
    return error(ErrorCode::InvalidArgument,
                 "architecture '{}' is not one; write sm_75, sm_80, sm_90", arch);
  }
  return "compute_" + number;
}

struct Compiler {
  bool use_nvrtc = false;
  std::string name;      ///< "NVRTC 13.0", "nvcc"
  std::string identity;  ///< Changes when another compiler would run.
};

Result<Compiler> choose(const Toolkit& toolkit, CompilerChoice wanted) {
  if (wanted != CompilerChoice::Nvcc) {
    const auto version = compile::nvrtc_version(toolkit);
    if (version) return Compiler{true, "NVRTC " + *version, "nvrtc " + *version + toolkit.nvrtc};
    if (wanted == CompilerChoice::Nvrtc) return version.error();
  }
  if (toolkit.nvcc.empty()) {
    return error(
        ErrorCode::Unavailable,
        "no CUDA compiler: neither libnvrtc.so.13 nor nvcc was found; set CUDA_HOME to a CUDA 13 "
        "toolkit, or get NVIDIA's wheels: pip install 'gpuemu[cuda]', in the sources "
        "scripts/setup.sh");
  }
  std::error_code ignored;
  const fs::path real = fs::canonical(toolkit.nvcc, ignored);
  const auto written = fs::last_write_time(real, ignored).time_since_epoch().count();
  std::string identity = fmt::format("nvcc {} {}", real.string(), written);
  // nvcc adds the options that these hold to its own.
  for (const char* variable : {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"}) {
    const char* value = std::getenv(variable);
    identity += fmt::format(" {}", value == nullptr ? "" : value);
  }
  return Compiler{false, "nvcc", identity};
}

std::string cache_key(const Job& job, const Compiler& compiler) {
  std::string settings;
  for (const auto* list : {&job.flags, &job.include_dirs, &job.templates}) {
    for (const std::string& word : *list) settings += word + '\0';
    settings += '\1';
  }
  std::vector<std::string> folders = job.include_dirs;
  std::ranges::copy(compile::include_dirs_of(job.flags), std::back_inserter(folders));
  const std::string forced = compile::forced_includes(job.flags);
  std::string headers = compile::included_content(job.path, forced + job.source, folders);
  // The sizes keep the end of one part from passing for the start of the next.
  const std::string sizes =
      fmt::format("{} {} {}", job.source.size(), headers.size(), settings.size());
  return content_hash({kCacheFormat, sizes, job.path, "\n", job.source, headers, settings, job.arch,
                       compiler.identity});
}

Result<Output> read_cached(const fs::path& file) {
  Output out{GPUEMU_TRY(read_file(file, kSourceBytesMax)), {}};
  const size_t mark = out.ptx.rfind(kHashMark);
  const std::string_view all = out.ptx;
  if (mark == std::string::npos ||
      all.substr(mark + kHashMark.size()) != content_hash({all.substr(0, mark)}) + "\n") {
    return error(ErrorCode::Corruption, "{} is not as it was written", file.string());
  }
  out.ptx.resize(mark);
  for (size_t at = out.ptx.find(kNameMark); at != std::string::npos;
       at = out.ptx.find(kNameMark, at + 1)) {
    const size_t begin = at + kNameMark.size();
    const size_t tab = out.ptx.find('\t', begin);
    const size_t end = out.ptx.find('\n', begin);
    if (tab == std::string::npos || end == std::string::npos || tab > end) break;
    out.lowered[out.ptx.substr(begin, tab - begin)] = out.ptx.substr(tab + 1, end - tab - 1);
  }
  // What is read is what was compiled.
  out.ptx.resize(std::min(out.ptx.find(kNameMark), out.ptx.size()));
  return out;
}

/// A cache that cannot be written costs time, not the result.
void write_cached(const fs::path& file, const Output& output) {
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  std::string text = output.ptx;
  for (const auto& [name, lowered] : output.lowered) {
    text += fmt::format("{}{}\t{}\n", kNameMark, name, lowered);
  }
  text += fmt::format("{}{}\n", kHashMark, content_hash({text}));
  if (!failed) (void)write_file(file, text).ok();
}

/// Held while a text is compiled for the cache. nvcc draws names at random, so two compilations of
/// one text differ, and whoever compares what they used with what is kept would find a change.
std::shared_ptr<std::mutex> turn_of(const std::string& file) {
  static std::mutex guard;
  static std::map<std::string, std::weak_ptr<std::mutex>> turns;
  const std::lock_guard lock(guard);
  std::erase_if(turns, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<std::mutex>& slot = turns[file];
  std::shared_ptr<std::mutex> turn = slot.lock();
  if (turn == nullptr) slot = turn = std::make_shared<std::mutex>();
  return turn;
}

Result<Output> run_compiler(const Toolkit& toolkit, const Job& job, Compiler& compiler,
                            CompilerChoice wanted) {
  if (!compiler.use_nvrtc) return compile::run_nvcc(toolkit, job);
  auto output = compile::run_nvrtc(toolkit, job);
  if (output || output.error().code != ErrorCode::Unsupported) return output;
  if (wanted == CompilerChoice::Nvrtc || toolkit.nvcc.empty()) {
    return error(ErrorCode::Compile, "{}", output.error().message);
  }
  compiler.name = "nvcc";
  return compile::run_nvcc(toolkit, job);
}

/// A template that does not exist makes the whole compilation fail, with messages about our own
/// text. Compiled without it, the source itself may be fine: then it is the name that is wrong.
Error explain(const Toolkit& toolkit, Job job, Compiler compiler, const Error& first) {
  if (first.code != ErrorCode::Compile || job.templates.empty()) return first;
  const auto wanted = job.templates;
  job.templates.clear();
  const auto plain = run_compiler(toolkit, job, compiler, CompilerChoice::Auto);
  if (!plain) return first;
  std::string names;
  for (const std::string& name : wanted) names += (names.empty() ? "'" : ", '") + name + "'";
  const std::vector<std::string> entries = compile::ptx_entries(plain->ptx);
  for (const std::string& name : wanted) {
    const std::string base = compile::normalised(name.substr(0, name.find('<')));
    const bool is_plain = std::ranges::any_of(
        entries, [&](const std::string& one) { return compile::plain_name(one) == base; });
    if (!is_plain) continue;
    return error(ErrorCode::NotFound, "no entry '{0}': {1} in {2} is no template; write '{1}'",
                 name, base, job.path);
  }
  // The kernel may exist and fail inside for this type: then the compiler's lines tell.
  for (const std::string& name : wanted) {
    const std::string base = name.substr(0, name.find('<'));
    const std::string simple =
        base.substr(base.rfind(':') == std::string::npos ? 0 : base.rfind(':') + 1);
    if (job.source.find(simple) == std::string::npos) {
      return error(ErrorCode::NotFound, "no entry '{}'; the source has: {}", name,
                   compile::describe_entries(plain->ptx, job.source));
    }
  }
  return error(ErrorCode::Compile, "instantiating {}: {}", names, first.message);
}

Result<CompiledModule> finish(const CompileRequest& request, const std::string& source,
                              Output output, std::string compiler) {
  CompiledModule module{std::move(output.ptx), {}, std::move(compiler)};
  module.lowered = GPUEMU_TRY(
      compile::resolve_entries(request.name_expressions, module.ptx, source, output.lowered));
  return module;
}

}  // namespace

Result<CompiledModule> compile_source(const CompileRequest& request) {
  std::string source = request.source;
  if (source.empty()) source = GPUEMU_TRY(read_file(request.path, kSourceBytesMax));
  if (request.path.ends_with(".ptx")) return finish(request, "", Output{source, {}}, "none");
  Job job;
  std::error_code failed;
  job.path =
      fs::absolute(request.path.empty() ? "source.cu" : request.path, failed).lexically_normal();
  if (job.path.find_first_of("\"\n") != std::string::npos)
    return error(ErrorCode::InvalidArgument,
                 "{}: a path with a quote or a line end can be given to no compiler; rename the "
                 "file or its folder",
                 job.path);
  job.source = std::move(source);
  job.arch = GPUEMU_TRY(virtual_arch(request.arch));
  job.include_dirs = request.include_dirs;
  job.flags = request.flags;
  for (const std::string& name : request.name_expressions) {
    if (name.find('<') != std::string::npos) job.templates.push_back(name);
  }
  const Toolkit toolkit = compile::find_toolkit();
  Compiler compiler = GPUEMU_TRY(choose(toolkit, request.compiler));
  fs::path cached;
  std::shared_ptr<std::mutex> turn;
  std::unique_lock<std::mutex> mine;
  if (!request.cache_folder.empty()) {
    cached = fs::path(request.cache_folder) / (cache_key(job, compiler) + ".ptx");
    turn = turn_of(cached.string());
    mine = std::unique_lock(*turn);
    auto kept = read_cached(cached);
    if (kept) return finish(request, job.source, *std::move(kept), "cache");
  }
  auto output = run_compiler(toolkit, job, compiler, request.compiler);
  if (!output) return explain(toolkit, job, compiler, output.error());
  if (!output->ptx.ends_with('\n')) output->ptx += '\n';
  if (!cached.empty()) write_cached(cached, *output);
  return finish(request, job.source, *std::move(output), compiler.name);
}

}  // namespace gpuemu
