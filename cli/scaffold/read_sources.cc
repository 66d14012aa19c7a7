#include "cli/scaffold/read_sources.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include "cli/cuda_text/cpp_text.h"
#include "cli/cuda_text/include_dirs.h"
#include "cli/trials/settle.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/numeric/dtype.h"
#include "runtime/compile/compile.h"
#include "runtime/compile/includes.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArchitecture = "sm_80";

std::string clean_text(const fs::path& file) {
  const auto text = read_file(file, kSourceBytesMax);
  return text ? without_comments(*text) : std::string();
}

/// Returns the entry for the kernel's first dtype: "softmax<float>".
std::string instance_of(const ProposedKernel& kernel) {
  const DType dtype = kernel.dtypes.empty()
                          ? DType::Float32
                          : dtype_from_alias(kernel.dtypes.front()).value_or(DType::Float32);
  std::string entry = kernel.entry;
  for (size_t at = entry.find("{ctype}"); at != std::string::npos; at = entry.find("{ctype}")) {
    entry.replace(at, 7, cuda_type_of(dtype));
  }
  return entry;
}

/// Returns the first line of a compiler's output, without the folder.
std::string first_line(std::string text, const fs::path& folder) {
  text.resize(std::min(text.find('\n'), text.size()));
  const std::string prefix = folder.string() + "/";
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
    text.erase(at, prefix.size());
  }
  return text;
}

class Reader {
 public:
  Reader(const SourceFiles& files, const Progress& progress)
      : files_(files), progress_(progress), dirs_(files.include_dirs) {
    for (const std::string& dir : include_dirs_of_build(files.folder)) {
      if (std::ranges::find(dirs_, dir) == dirs_.end()) {
        dirs_.push_back(dir);
      }
    }
    // Host code that launches a kernel may be in another file.
    for (const std::vector<std::string>* list : {&files.cuda, &files.headers}) {
      for (const std::string& file : *list) {
        add_launches(file);
      }
    }
  }

  void read(const std::string& file) {
    add_include_dirs(files_.folder, file, files_.headers, dirs_);
    const fs::path path = files_.folder / file;
    const auto source = read_file(path, kSourceBytesMax);
    if (!source) {
      out_.left_out.push_back({file, "", source.error().message});
      return;
    }
    std::string all;
    for (const std::string& header : compile::included_files(path.string(), *source, dirs_)) {
      all += clean_text(header) + "\n";
      included_.insert(header);
    }
    all = active_text(all + without_comments(*source));
    SourceContext context{scan_definitions(all), {}};
    for (const bool own : {true, false}) {
      for (const HostLaunch& launch : launches_) {
        if ((launch.file == file) == own) {
          context.launches.push_back(launch);
        }
      }
    }
    std::vector<ProposedKernel> proposed;
    for (const SourceKernel& kernel : scan_kernels(all)) {
      // Another source may include the same header.
      if (!seen_.insert(kernel.name + kernel.body).second) continue;
      std::string why;
      auto some = propose(kernel, context, file, why);
      if (some.empty()) {
        // The type may be declared in a header that is missing.
        const std::string missing = missing_header(path);
        out_.left_out.push_back({file, kernel.name, missing.empty() ? why : missing});
      }
      for (ProposedKernel& one : some) proposed.push_back(std::move(one));
    }
    if (!proposed.empty()) try_all(path, std::move(proposed));
  }

  /// Returns whether the header has kernels, and no source that was read includes it.
  bool is_source(const std::string& header) const {
    std::error_code failed;
    const fs::path path = files_.folder / header;
    if (included_.contains(fs::weakly_canonical(path, failed).string())) return false;
    const auto text = read_file(path, kSourceBytesMax);
    return text && text->find("__global__") != std::string::npos && !scan_kernels(*text).empty();
  }

  SourceKernels take() {
    for (const std::string& dir : dirs_) {
      fs::path relative = fs::path(dir).lexically_relative(files_.folder);
      if (!relative.has_filename()) {
        relative = relative.parent_path();  // Removes a trailing slash.
      }
      const bool is_named =
          std::ranges::find(files_.include_dirs, dir) != files_.include_dirs.end();
      const bool is_near = !relative.empty() && !relative.string().starts_with("../../../../");
      const bool is_inside = is_near && *relative.begin() != "..";
      out_.include_dirs.push_back(is_inside || (is_near && !is_named) ? relative.string() : dir);
    }
    return std::move(out_);
  }

 private:
  void add_launches(const std::string& file) {
    for (HostLaunch& launch : scan_launches(clean_text(files_.folder / file))) {
      launch.file = file;
      launches_.push_back(std::move(launch));
    }
  }

  Result<CompiledModule> compiled(const fs::path& path,
                                  const std::vector<std::string>& entries) const {
    CompileRequest request;
    request.path = path.string();
    request.arch = kArchitecture;
    request.include_dirs = dirs_;
    request.name_expressions = entries;
    return compile_source(request);
  }

  /// Describes what to do about a header that the source includes but that was not found; "" if
  /// there is none.
  const std::string& missing_header(const fs::path& path) {
    const auto [place, is_new] = missing_.try_emplace(path.string());
    if (!is_new) return place->second;
    const auto plain = compiled(path, {});
    if (!plain) place->second = about_missing_header(plain.error().message);
    return place->second;
  }

  void leave_out(const ProposedKernel& kernel, const Error& problem) {
    std::string why = about_missing_header(problem.message);
    if (why.empty()) {
      why = fmt::format("it does not compile: {}; fix it, or write its entry yourself",
                        first_line(problem.message, files_.folder));
    }
    if (const size_t at = problem.message.find(kWithoutHost); at != std::string::npos) {
      const std::string also = problem.message.substr(at + kWithoutHost.size());
      why += "; without it: " + first_line(also, files_.folder);
    }
    out_.left_out.push_back({kernel.source, kernel.name, why});
  }

  /// Tries all kernels of a source together; if that fails, each on its own.
  void try_all(const fs::path& path, std::vector<ProposedKernel> proposed) {
    std::vector<std::string> entries;
    for (const ProposedKernel& kernel : proposed) entries.push_back(instance_of(kernel));
    const auto together = compiled(path, entries);
    if (!together && proposed.size() > 1) {
      // A fault outside the kernels affects all of them.
      const auto plain = compiled(path, {});
      if (!plain) {
        for (const ProposedKernel& kernel : proposed) leave_out(kernel, plain.error());
        return;
      }
    }
    for (size_t i = 0; i < proposed.size(); ++i) {
      ProposedKernel& kernel = proposed[i];
      if (!progress_(kernel.source, kernel.name)) return;
      auto alone = together || proposed.size() == 1 ? together : compiled(path, {entries[i]});
      if (!alone) {
        leave_out(kernel, alone.error());
        continue;
      }
      const auto entry = alone->lowered.find(entries[i]);
      const std::string why =
          settle(alone->ptx, entry == alone->lowered.end() ? entries[i] : entry->second, kernel);
      kernel.guess = first_line(why, files_.folder);
      out_.kernels.push_back(std::move(kernel));
    }
  }

  const SourceFiles& files_;
  const Progress& progress_;
  std::vector<std::string> dirs_;
  std::vector<HostLaunch> launches_;
  std::set<std::string> seen_;
  std::set<std::string> included_;
  std::map<std::string, std::string> missing_;  ///< By path: the result of missing_header().
  SourceKernels out_;
};

}  // namespace

std::vector<std::string> told(const std::vector<LeftOut>& left_out) {
  constexpr size_t kNamesMax = 3;
  std::vector<std::string> lines;
  for (size_t at = 0; at < left_out.size();) {
    const LeftOut& first = left_out[at];
    std::string names;
    size_t count = 0;
    for (; at < left_out.size() && left_out[at].file == first.file && left_out[at].why == first.why;
         ++at) {
      if (++count <= kNamesMax) names += (count == 1 ? "" : ", ") + left_out[at].kernel;
    }
    if (count > kNamesMax) names += fmt::format(" and {} more", count - kNamesMax);
    std::string why = first.why;
    std::ranges::replace(why, '\n', ' ');
    lines.push_back(fmt::format("{}{}{} {} left out: {}", first.file, names.empty() ? "" : ": ",
                                names, count == 1 ? "is" : "are", why));
  }
  return lines;
}

SourceKernels read_sources(const SourceFiles& files, const Progress& progress) {
  Reader reader(files, progress);
  for (const std::string& file : files.cuda) {
    if (!progress(file, "")) return reader.take();
    reader.read(file);
  }
  // Headers of a header-only library are included by no source.
  for (const std::string& file : files.headers) {
    if (!file.ends_with(".cuh") || !reader.is_source(file)) continue;
    if (!progress(file, "")) break;
    reader.read(file);
  }
  return reader.take();
}

}  // namespace gpuemu::cli
