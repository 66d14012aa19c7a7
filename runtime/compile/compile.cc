// Compiles a source: reads it, looks in the cache, runs the compiler and resolves the entries.
#include "runtime/compile/compile.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>

#include "common/base/blake2.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "runtime/compile/compiler.h"
#include "runtime/compile/kept_file.h"
#include "runtime/compile/source_text/entry_names.h"
#include "runtime/compile/source_text/includes.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;
using compile::Job;
using compile::Output;
using compile::Toolkit;

/// Follows the PTX in a cached file, one line per template, with the PTX name of the template's
/// entry.
constexpr std::string_view kNameMark = "// gpuemu-entry\t";
/// Precedes these lines: one line per warning.
constexpr std::string_view kWarningMark = "// gpuemu-warning\t";
/// Part of the cache key. Change it when the layout of cached files changes.
constexpr std::string_view kCacheFormat = "gpuemu-ptx-4";
/// Sets of entries that are compiled together. All must finish within the compiler's timeout.
constexpr size_t kTogetherMax = 64;
/// After this many failures in a row, all remaining sets are assumed to be faulty; each reports its
/// error when it is compiled alone.
constexpr size_t kFailedInARowMax = 8;

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
  std::string identity;  ///< Changes if another compiler would run.
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
  std::string identity = "nvcc " + compile::program_identity(toolkit.nvcc);
  // nvcc adds the options in these variables to its own.
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
  // The sizes mark where one part ends and the next begins.
  const std::string sizes =
      fmt::format("{} {} {}", job.source.size(), headers.size(), settings.size());
  return content_hash({kCacheFormat, sizes, job.path, "\n", job.source, headers, settings, job.arch,
                       compiler.identity});
}

Result<Output> read_cached(const fs::path& file) {
  Output out{.ptx = GPUEMU_TRY(compile::read_kept(file)), .lowered = {}};
  for (size_t at = out.ptx.find(kNameMark); at != std::string::npos;
       at = out.ptx.find(kNameMark, at + 1)) {
    const size_t begin = at + kNameMark.size();
    const size_t tab = out.ptx.find('\t', begin);
    const size_t end = out.ptx.find('\n', begin);
    if (tab == std::string::npos || end == std::string::npos || tab > end) break;
    out.lowered[out.ptx.substr(begin, tab - begin)] = out.ptx.substr(tab + 1, end - tab - 1);
  }
  for (size_t at = out.ptx.find(kWarningMark); at != std::string::npos;
       at = out.ptx.find(kWarningMark, at + 1)) {
    const size_t begin = at + kWarningMark.size();
    out.warnings.push_back(out.ptx.substr(begin, out.ptx.find('\n', begin) - begin));
  }
  // Leaves exactly the text that was compiled.
  const size_t end = std::min(out.ptx.find(kNameMark), out.ptx.find(kWarningMark));
  out.ptx.resize(std::min(end, out.ptx.size()));
  return out;
}

void write_cached(const fs::path& file, const Output& output) {
  std::string text = output.ptx;
  for (const std::string& warning : output.warnings) {
    text += fmt::format("{}{}\n", kWarningMark, warning);
  }
  for (const auto& [name, lowered] : output.lowered) {
    text += fmt::format("{}{}\t{}\n", kNameMark, name, lowered);
  }
  compile::write_kept(file, std::move(text));
}

/// Held while a text is compiled for the cache. nvcc draws random names, so two compilations of one
/// text differ, and a client that compares its copy with the cached one would see a change.
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

/// The header at which the compiler stopped, before it saw what the source is; "" for none.
std::string missing_header(const Error& error) {
  const std::string& text = error.message;
  constexpr std::string_view kNvrtc = "cannot open source file \"", kHost = "fatal error: ";
  if (const size_t at = text.find(kNvrtc); at != std::string::npos) {
    const size_t begin = at + kNvrtc.size();
    return text.substr(begin, text.find('"', begin) - begin);
  }
  const size_t end = text.find(": No such file or directory"), at = text.rfind(kHost, end);
  if (end == std::string::npos || at == std::string::npos) return "";
  return text.substr(at + kHost.size(), end - at - kHost.size());
}

/// Where a header was missing, with what the source says once code of the host is taken out of it:
/// the reason may be there.
Error with_second(const Error& first, const Error& second) {
  const std::string header = missing_header(first);
  const bool tells_more = !header.empty() && missing_header(second) != header;
  return error(ErrorCode::Compile, "{}{}", first.message,
               tells_more ? fmt::format("\n{}{}", kWithoutHost, second.message) : "");
}

Result<Output> run_compiler(const Toolkit& toolkit, const Job& job, Compiler& compiler,
                            CompilerChoice wanted) {
  if (job.cancel != nullptr && *job.cancel) {
    return error(ErrorCode::Cancelled, "{} was not compiled: the request was cancelled", job.path);
  }
  if (!compiler.use_nvrtc) return compile::run_nvcc(toolkit, job);
  auto output = compile::run_nvrtc(toolkit, job);
  if (output || output.error().code != ErrorCode::Unsupported) return output;
  // Host code beside the kernels, as in a PyTorch extension, does not have to compile.
  auto without_host = compile::run_nvrtc_without_host(toolkit, job);
  if (without_host) return without_host;
  if (wanted == CompilerChoice::Nvrtc || toolkit.nvcc.empty()) {
    return with_second(output.error(), without_host.error());
  }
  compiler.name = "nvcc";
  auto by_nvcc = compile::run_nvcc(toolkit, job);
  if (by_nvcc || by_nvcc.error().code != ErrorCode::Compile) return by_nvcc;
  return with_second(by_nvcc.error(), without_host.error());
}

bool has_word(std::string_view text, std::string_view word) {
  const auto is_part = [&](size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + word.size())) return true;
  }
  return false;
}

/// Explains a failed compilation. A template that does not exist makes the whole compilation fail,
/// with messages about the text that we add. If the source compiles without it, the name is wrong.
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
    return error(ErrorCode::NotFound, "no entry '{0}': {1} in {2} is not a template; write '{1}'",
                 name, base, job.path);
  }
  // The kernel may exist and fail to compile for this type; then the compiler's messages explain
  // it.
  for (const std::string& name : wanted) {
    const std::string base = name.substr(0, name.find('<'));
    const std::string simple =
        base.substr(base.rfind(':') == std::string::npos ? 0 : base.rfind(':') + 1);
    if (!has_word(job.source, simple)) {
      return error(ErrorCode::NotFound, "no entry '{}'; the source has: {}", name,
                   compile::describe_entries(plain->ptx, job.source, name));
    }
  }
  return error(ErrorCode::Compile, "instantiating {}: {}", names, first.message);
}

Result<CompiledModule> finish(const CompileRequest& request, const std::string& source,
                              Output output, std::string compiler) {
  CompiledModule module{
      std::move(output.ptx), {}, {}, std::move(compiler), std::move(output.warnings)};
  module.lowered = GPUEMU_TRY(
      compile::resolve_entries(request.name_expressions, module.ptx, source, output.lowered));
  for (const auto& [expression, entry] : output.lowered) module.others.insert(entry);
  for (const auto& [expression, entry] : module.lowered) module.others.erase(entry);
  return module;
}

std::vector<std::string> templates_of(const std::vector<std::string>& expressions) {
  std::vector<std::string> templates;
  for (const std::string& name : expressions) {
    const bool known = std::ranges::find(templates, name) != templates.end();
    if (name.find('<') != std::string::npos && !known) templates.push_back(name);
  }
  return templates;
}

/// Returns the job of a request, without its templates.
Result<Job> job_of(const CompileRequest& request, std::string source) {
  Job job;
  std::error_code failed;
  job.path =
      fs::absolute(request.path.empty() ? "source.cu" : request.path, failed).lexically_normal();
  if (job.path.find_first_of("\"\n") != std::string::npos) {
    return error(ErrorCode::InvalidArgument,
                 "{}: a path with a quote or a line end can be given to no compiler; rename the "
                 "file or its folder",
                 job.path);
  }
  job.source = std::move(source);
  job.arch = GPUEMU_TRY(virtual_arch(request.arch));
  job.include_dirs = request.include_dirs;
  job.flags = request.flags;
  job.cancel = request.cancel;
  return job;
}

/// Cache files of a set of templates.
struct CacheFiles {
  fs::path alone;
  fs::path together;  ///< Compiled together with other sets.
};

CacheFiles cache_files(const CompileRequest& request, const Job& job, const Compiler& compiler) {
  const fs::path file = fs::path(request.cache_folder) / cache_key(job, compiler);
  return {file.string() + ".ptx", file.string() + ".together.ptx"};
}

Result<Output> read_either(const CacheFiles& places) {
  auto alone = read_cached(places.alone);
  return alone ? std::move(alone) : read_cached(places.together);
}

/// A requested set of templates that is not in the cache.
struct Absent {
  std::vector<std::string> templates;
  CacheFiles places;
};

/// Compiles several sets in one compilation; if that fails, tries each half separately.
class TogetherCompiler {
 public:
  TogetherCompiler(const Toolkit& toolkit, Job job, Compiler compiler, CompilerChoice wanted)
      : toolkit_(toolkit), job_(std::move(job)), compiler_(std::move(compiler)), wanted_(wanted) {}

  Status make(std::span<const Absent> sets) {
    if (sets.size() < 2 || failed_in_a_row_ >= kFailedInARowMax) return ok_status();
    std::set<std::string> all;
    for (const Absent& set : sets) all.insert(set.templates.begin(), set.templates.end());
    job_.templates.assign(all.begin(), all.end());
    const auto made = run();
    if (made) {
      for (const Absent& set : sets) write_cached(set.places.together, *made);
      failed_in_a_row_ = 0;
      return ok_status();
    }
    // Such names can only be resolved in a compilation of one set alone, for example with default
    // template arguments.
    if (is_about_names(made.error())) return ok_status();
    if (made.error().code != ErrorCode::Compile) return made.error();
    if (!source_is_sound_) {
      job_.templates.clear();
      const auto plain = run();
      if (!plain) return plain.error();
      source_is_sound_ = true;
    }
    if (++failed_in_a_row_ >= kFailedInARowMax) return ok_status();
    const size_t half = sets.size() / 2;
    GPUEMU_TRY(make(sets.first(half)));
    return make(sets.subspan(half));
  }

 private:
  static bool is_about_names(const Error& why) {
    return why.code == ErrorCode::NotFound || why.code == ErrorCode::InvalidArgument;
  }
  /// Compiles, and finds the entry of each template among those of all sets.
  Result<Output> run() {
    Compiler compiler = compiler_;
    Output made = GPUEMU_TRY(run_compiler(toolkit_, job_, compiler, wanted_));
    made.lowered =
        GPUEMU_TRY(compile::resolve_entries(job_.templates, made.ptx, job_.source, made.lowered));
    if (!made.ptx.ends_with('\n')) made.ptx += '\n';
    return made;
  }

  const Toolkit& toolkit_;
  Job job_;
  const Compiler compiler_;
  const CompilerChoice wanted_;
  bool source_is_sound_ = false;
  size_t failed_in_a_row_ = 0;
};

std::vector<Absent> absent_of(const CompileRequest& request, Job job, const Compiler& compiler,
                              const std::vector<std::vector<std::string>>& sets) {
  std::vector<Absent> absent;
  std::set<std::vector<std::string>> seen;
  for (const auto& set : sets) {
    job.templates = templates_of(set);
    if (!seen.insert(job.templates).second) continue;
    CacheFiles places = cache_files(request, job, compiler);
    if (!read_either(places)) absent.push_back({job.templates, std::move(places)});
  }
  return absent;
}

/// Locks the cache files of all sets, in a fixed order to avoid deadlocks.
class FileLocks {
 public:
  explicit FileLocks(const std::vector<Absent>& sets) {
    std::set<std::string> files;
    for (const Absent& set : sets) files.insert(set.places.alone.string());
    for (const std::string& file : files) {
      turns_.push_back(turn_of(file));
      held_.emplace_back(*turns_.back());
    }
  }

 private:
  std::vector<std::shared_ptr<std::mutex>> turns_;
  // Last, so that the locks are released before the mutexes are freed.
  std::vector<std::unique_lock<std::mutex>> held_;
};

}  // namespace

Status compile_ahead(const CompileRequest& request,
                     const std::vector<std::vector<std::string>>& sets) {
  if (request.cache_folder.empty() || request.path.ends_with(".ptx")) return ok_status();
  std::string source = request.source;
  if (source.empty()) source = GPUEMU_TRY(read_file(request.path, kSourceBytesMax));
  Job job = GPUEMU_TRY(job_of(request, std::move(source)));
  const Toolkit toolkit = compile::find_toolkit();
  const Compiler compiler = GPUEMU_TRY(choose(toolkit, request.compiler));
  if (!request.name_expressions.empty()) {
    job.templates = templates_of(request.name_expressions);
    if (read_either(cache_files(request, job, compiler)).ok()) return ok_status();
    job.templates.clear();
  }
  const std::vector<Absent> wanted = absent_of(request, job, compiler, sets);
  if (wanted.size() < 2) return ok_status();
  const FileLocks turns(wanted);
  // Another request may have compiled some of them during the wait.
  std::vector<Absent> absent = wanted;
  std::erase_if(absent, [](const Absent& set) { return read_either(set.places).ok(); });
  TogetherCompiler together(toolkit, job, compiler, request.compiler);
  for (size_t at = 0; at < absent.size(); at += kTogetherMax) {
    const size_t count = std::min(kTogetherMax, absent.size() - at);
    GPUEMU_TRY(together.make(std::span(absent).subspan(at, count)));
  }
  return ok_status();
}

Result<CompiledModule> compile_source(const CompileRequest& request) {
  std::string source = request.source;
  if (source.empty()) source = GPUEMU_TRY(read_file(request.path, kSourceBytesMax));
  if (request.path.ends_with(".ptx")) {
    return finish(request, "", Output{.ptx = source, .lowered = {}}, "none");
  }
  Job job = GPUEMU_TRY(job_of(request, std::move(source)));
  job.templates = templates_of(request.name_expressions);
  const Toolkit toolkit = compile::find_toolkit();
  Compiler compiler = GPUEMU_TRY(choose(toolkit, request.compiler));
  fs::path cached;
  std::shared_ptr<std::mutex> turn;
  std::unique_lock<std::mutex> mine;
  if (!request.cache_folder.empty()) {
    const CacheFiles places = cache_files(request, job, compiler);
    cached = places.alone;
    turn = turn_of(cached.string());
    mine = std::unique_lock(*turn);
    auto kept = request.with_others ? read_either(places) : read_cached(cached);
    if (kept) return finish(request, job.source, *std::move(kept), "cache");
  }
  auto output = run_compiler(toolkit, job, compiler, request.compiler);
  if (!output) return explain(toolkit, job, compiler, output.error());
  if (!output->ptx.ends_with('\n')) output->ptx += '\n';
  if (!cached.empty()) write_cached(cached, *output);
  return finish(request, job.source, *std::move(output), compiler.name);
}

}  // namespace gpuemu
