#include "cli/scaffold/read_sources.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/core.h>

#include "cli/cuda_text/cpp_text.h"
#include "cli/cuda_text/include_dirs.h"
#include "cli/scaffold/try_kernels.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "runtime/compile/source_text/includes.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

std::string clean_text(const fs::path& file) {
  const auto text = read_file(file, kSourceBytesMax);
  return text ? without_comments(*text) : std::string();
}

class Reader {
 public:
  Reader(const SourceFiles& files, const std::atomic<bool>& stop)
      : files_(files), stop_(stop), dirs_(files.include_dirs) {
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
    if (!proposed.empty()) files_to_try_.emplace_back(path, dirs_, std::move(proposed));
  }

  /// Returns whether the header has kernels, and no source that was read includes it.
  bool is_source(const std::string& header) const {
    std::error_code failed;
    const fs::path path = files_.folder / header;
    if (included_.contains(fs::weakly_canonical(path, failed).string())) return false;
    const auto text = read_file(path, kSourceBytesMax);
    return text && text->find("__global__") != std::string::npos && !scan_kernels(*text).empty();
  }

  void leave_out(const std::string& file, const std::string& why) {
    out_.left_out.push_back({file, "", why});
  }

  std::vector<FileToTry>& files_to_try() { return files_to_try_; }

  SourceKernels take() {
    for (FileToTry& file : files_to_try_) {
      for (size_t i = 0; i < file.proposed.size(); ++i) {
        if (file.settled[i]) out_.kernels.push_back(*std::move(file.settled[i]));
        if (file.left_out[i]) out_.left_out.push_back(*std::move(file.left_out[i]));
      }
    }
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

  /// Describes what to do about a header that the source includes but that was not found; "" if
  /// there is none.
  const std::string& missing_header(const fs::path& path) {
    const auto [place, is_new] = missing_.try_emplace(path.string());
    if (!is_new) return place->second;
    place->second = about_missing_header(first_errors(path, dirs_, stop_));
    return place->second;
  }

  const SourceFiles& files_;
  const std::atomic<bool>& stop_;
  std::vector<std::string> dirs_;
  std::vector<HostLaunch> launches_;
  std::set<std::string> seen_;
  std::set<std::string> included_;
  std::map<std::string, std::string> missing_;  ///< By path: the result of missing_header().
  std::vector<FileToTry> files_to_try_;
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

SourceKernels read_sources(const SourceFiles& files, const Progress& progress,
                           const std::atomic<bool>& stop) {
  Reader reader(files, stop);
  std::vector<std::string> all = files.cuda;
  // Headers of a header-only library are included by no source.
  all.insert(all.end(), files.headers.begin(), files.headers.end());
  for (size_t i = 0; i < all.size(); ++i) {
    const bool is_header = i >= files.cuda.size();
    if (is_header && !reader.is_source(all[i])) continue;
    if (stop) return reader.take();
    progress("reading " + all[i], i, all.size());
    if (is_header && !all[i].ends_with(".cuh")) {
      reader.leave_out(all[i],
                       "no source includes it, and gpuemu.toml takes kernels from .cu and "
                       ".cuh files; write a .cu file that includes it");
    } else {
      reader.read(all[i]);
    }
  }
  try_kernels(files.folder, reader.files_to_try(), progress, stop);
  return reader.take();
}

}  // namespace gpuemu::cli
