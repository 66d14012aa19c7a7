#include "cli/scaffold/try_kernels.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "cli/cuda_text/include_dirs.h"
#include "cli/trials/settle.h"
#include "common/base/threads.h"
#include "common/numeric/dtype.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArchitecture = "sm_80";

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

LeftOut refusal_of(const ProposedKernel& kernel, const Error& problem, const fs::path& folder) {
  // Headers of the host are no obstacle by themselves: it was compiled without them, too.
  const size_t at = problem.message.find(kWithoutHost);
  const bool is_tried_alone = at != std::string::npos;
  const std::string message =
      is_tried_alone ? problem.message.substr(at + kWithoutHost.size()) : problem.message;
  std::string why = about_missing_header(message);
  if (why.empty()) {
    why = fmt::format("it does not compile{}: {}; fix it, or write its entry yourself",
                      is_tried_alone ? ", even without its code for the host" : "",
                      first_line(message, folder));
  }
  return {kernel.source, kernel.name, why};
}

class Workshop {
 public:
  Workshop(const fs::path& folder, std::vector<FileToTry>& files, const Progress& progress,
           const std::atomic<bool>& stop)
      : folder_(folder), progress_(progress), stop_(stop) {
    for (FileToTry& file : files) {
      total_ += file.proposed.size();
      tasks_.emplace_back([this, &file] { compile(file); });
    }
  }

  void run() {
    run_on_threads(std::max(1u, std::thread::hardware_concurrency()), [this] {
      while (const auto task = next()) {
        (*task)();
        end_task();
      }
    });
  }

 private:
  using Task = std::function<void()>;
  using Compiled = std::shared_ptr<const Result<CompiledModule>>;

  /// Waits while a running task may add others; nothing when all is done.
  std::optional<Task> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stop_ || !tasks_.empty() || working_ == 0; });
    if (stop_ || tasks_.empty()) return std::nullopt;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    ++working_;
    return task;
  }

  void end_task() {
    const std::lock_guard lock(mutex_);
    --working_;
    changed_.notify_all();
  }

  void tell(const std::string& what, size_t more_done) {
    const std::lock_guard lock(mutex_);
    done_ += more_done;
    progress_(what, done_, total_);
  }

  /// Adds a task for each kernel. Those of a source that does not compile as a whole are compiled
  /// one by one.
  void compile(FileToTry& file) {
    tell("compiling " + file.path.lexically_relative(folder_).string(), 0);
    const auto together = std::make_shared<const Result<CompiledModule>>(
        compile_for_trial(file.path, file.include_dirs, file.entries, &stop_));
    if (stop_) return;
    if (!*together && file.proposed.size() > 1) {
      // A fault outside the kernels affects all of them.
      const auto plain = compile_for_trial(file.path, file.include_dirs, {}, &stop_);
      if (!plain) {
        for (size_t i = 0; i < file.proposed.size(); ++i) {
          file.left_out[i] = refusal_of(file.proposed[i], plain.error(), folder_);
        }
        tell(file.proposed.front().source, file.proposed.size());
        return;
      }
    }
    const std::lock_guard lock(mutex_);
    for (size_t i = file.proposed.size(); i-- > 0;) {
      tasks_.emplace_front([this, &file, i, together] { settle_one(file, i, together); });
    }
    changed_.notify_all();
  }

  void settle_one(FileToTry& file, size_t i, const Compiled& together) {
    ProposedKernel kernel = file.proposed[i];
    const std::string& entry = file.entries[i];
    tell(fmt::format("trying {}: {}", kernel.source, kernel.name), 0);
    const bool is_compiled = *together || file.proposed.size() == 1;
    const auto alone =
        is_compiled ? *together : compile_for_trial(file.path, file.include_dirs, {entry}, &stop_);
    if (stop_) return;
    if (alone) {
      const auto lowered = alone->lowered.find(entry);
      const std::string why = settle(
          alone->ptx, lowered == alone->lowered.end() ? entry : lowered->second, kernel, &stop_);
      if (stop_) return;  // What was not tried to the end is no result.
      kernel.guess = first_line(why, folder_);
      for (std::string& note : kernel.notes) note = first_line(note, folder_);
      file.settled[i] = std::move(kernel);
    } else {
      file.left_out[i] = refusal_of(kernel, alone.error(), folder_);
    }
    tell(fmt::format("tried {}: {}", file.proposed[i].source, file.proposed[i].name), 1);
  }

  const fs::path& folder_;
  const Progress& progress_;
  const std::atomic<bool>& stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::deque<Task> tasks_;
  size_t working_ = 0, done_ = 0, total_ = 0;
};

}  // namespace

FileToTry::FileToTry(fs::path source, std::vector<std::string> dirs,
                     std::vector<ProposedKernel> kernels)
    : path(std::move(source)), include_dirs(std::move(dirs)), proposed(std::move(kernels)) {
  for (const ProposedKernel& kernel : proposed) entries.push_back(instance_of(kernel));
  settled.resize(entries.size());
  left_out.resize(entries.size());
}

void try_kernels(const fs::path& folder, std::vector<FileToTry>& files, const Progress& progress,
                 const std::atomic<bool>& stop) {
  Workshop(folder, files, progress, stop).run();
}

std::string first_errors(const fs::path& path, const std::vector<std::string>& include_dirs,
                         const std::atomic<bool>& stop) {
  CompileRequest request;
  request.path = path.string();
  request.arch = kArchitecture;
  request.include_dirs = include_dirs;
  request.flags = {"-fdevice-syntax-only"};
  request.cancel = &stop;
  // Even without errors it fails, because there is no PTX then.
  const auto made = compile_source(request);
  return made ? "" : made.error().message;
}

Result<CompiledModule> compile_for_trial(const fs::path& path,
                                         const std::vector<std::string>& include_dirs,
                                         const std::vector<std::string>& entries,
                                         const std::atomic<bool>* stop) {
  CompileRequest request;
  request.path = path.string();
  request.arch = kArchitecture;
  request.include_dirs = include_dirs;
  request.name_expressions = entries;
  request.cancel = stop;
  return compile_source(request);
}

}  // namespace gpuemu::cli
