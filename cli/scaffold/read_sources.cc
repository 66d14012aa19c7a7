#include "cli/scaffold/read_sources.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "cli/cuda_text/cpp_text.h"
#include "cli/cuda_text/include_dirs.h"
#include "cli/proposals/settle.h"
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
  explicit Reader(const SourceFiles& files) : files_(files), dirs_(files.include_dirs) {
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
      out_.left_out.push_back({file, source.error().message});
      return;
    }
    std::string all;
    for (const std::string& header : compile::included_files(path.string(), *source, dirs_)) {
      all += clean_text(header) + "\n";
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
        out_.left_out.push_back({file + ": " + kernel.name, missing.empty() ? why : missing});
      }
      for (ProposedKernel& one : some) proposed.push_back(std::move(one));
    }
    if (!proposed.empty()) try_all(path, std::move(proposed));
  }

  SourceKernels take() {
    for (const std::string& dir : dirs_) {
      fs::path relative = fs::path(dir).lexically_relative(files_.folder);
      if (!relative.has_filename()) {
        relative = relative.parent_path();  // Removes a trailing slash.
      }
      const bool inside = !relative.empty() && *relative.begin() != "..";
      out_.include_dirs.push_back(inside ? relative.string() : dir);
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
  std::string missing_header(const fs::path& path) const {
    const auto plain = compiled(path, {});
    return plain ? "" : about_missing_header(plain.error().message);
  }

  /// Tries all kernels of a source together; if that fails, each on its own.
  void try_all(const fs::path& path, std::vector<ProposedKernel> proposed) {
    std::vector<std::string> entries;
    for (const ProposedKernel& kernel : proposed) entries.push_back(instance_of(kernel));
    const auto together = compiled(path, entries);
    for (size_t i = 0; i < proposed.size(); ++i) {
      ProposedKernel& kernel = proposed[i];
      auto alone = together || proposed.size() == 1 ? together : compiled(path, {entries[i]});
      if (!alone) {
        std::string why = about_missing_header(alone.error().message);
        if (why.empty()) {
          why = fmt::format("it does not compile: {}; fix it, or write its entry yourself",
                            first_line(alone.error().message, files_.folder));
        }
        out_.left_out.push_back({kernel.source + ": " + kernel.name, why});
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
  std::vector<std::string> dirs_;
  std::vector<HostLaunch> launches_;
  std::set<std::string> seen_;
  SourceKernels out_;
};

}  // namespace

SourceKernels read_sources(const SourceFiles& files, const Progress& progress) {
  Reader reader(files);
  for (const std::string& file : files.cuda) {
    if (!progress(file)) break;
    reader.read(file);
  }
  return reader.take();
}

}  // namespace gpuemu::cli
