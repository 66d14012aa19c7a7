#include "bindings/libcuda/form_recorder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/core.h>
#include <unistd.h>

#include "bindings/libcuda/call_sites/symbols.h"
#include "bindings/libcuda/process.h"
#include "common/base/files.h"
#include "runtime/profile/profile.h"
#include "runtime/run_record/run_lines.h"

namespace gpuemu::libcuda {
namespace {

namespace fs = std::filesystem;

/// Returns a file name for a text: the same for equal texts in all processes of a run.
std::string code_name(const std::string& ptx) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a.
  for (const char c : ptx) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}-{}.ptx", hash, ptx.size());
}

void say_incomplete(const std::string& reason) {
  say_once("forms",
           fmt::format("cannot write to the folder of the run: {}; the fidelity report lacks "
                       "instructions of process {}",
                       reason, getpid()));
}

}  // namespace

void FormRecorder::start(const Settings& settings) {
  if (settings.folder.empty()) return;
  const std::lock_guard lock(mutex_);
  file_ = std::fopen(forms_file_name(settings.folder, getpid()).c_str(), "ae");
  if (file_ == nullptr) {
    say_incomplete(std::strerror(errno));
    return;
  }
  folder_ = settings.folder;
  counts_ = settings.count_forms;
}

std::string FormRecorder::keep(const std::string& ptx) {
  if (folder_.empty() || counts_) return "";
  std::string name = code_name(ptx);
  const std::string path = folder_ + "/" + name;
  std::error_code failed;
  if (fs::exists(path, failed)) return name;
  // Another process may write the same text; the rename prevents readers from seeing half of it.
  const std::string part = fmt::format("{}.{}-{}", path, getpid(), ::gettid());
  const Status written = write_file(part, ptx);
  if (!written) {
    say_incomplete(written.error().message);
    return "";
  }
  fs::rename(part, path, failed);
  if (!failed) return name;
  say_incomplete(failed.message());
  return "";
}

void FormRecorder::launched(const std::string& entry, const std::string& code, int sm) {
  if (code.empty()) return;
  const std::lock_guard lock(mutex_);
  if (!noted_.emplace(entry, code, sm).second) return;
  write(encode_line(RunCode{demangled(entry), entry, code, sm}));
}

void FormRecorder::ended(const std::string& entry, int sm, const LaunchReport& report) {
  if (!counts_ || report.profile == nullptr) return;
  const ProfilePlaces& places = *report.profile->places;
  const std::lock_guard lock(mutex_);
  const Kernel kernel{entry, sm};
  std::map<std::string, Count>& forms = kernels_[kernel];
  const size_t known = forms.size();
  for (size_t i = 0; i < places.instructions.size(); ++i) {
    const InstructionCount& count = report.profile->counts.instructions[i];
    if (count.warps != 0) forms[places.instructions[i].text].count += count.threads;
  }
  // Written immediately, so that a crash loses no form.
  if (forms.size() != known) write_counts(kernel, forms);
}

void FormRecorder::finish() {
  const std::lock_guard lock(mutex_);
  for (auto& [kernel, forms] : kernels_) write_counts(kernel, forms);
}

void FormRecorder::write_counts(const Kernel& kernel, std::map<std::string, Count>& forms) {
  const auto& [entry, sm] = kernel;
  std::string lines;
  for (auto& [form, count] : forms) {
    if (count.count == count.written) continue;
    lines += encode_line(RunForm{demangled(entry), entry, form, sm, count.count - count.written});
    count.written = count.count;
  }
  write(lines);
}

void FormRecorder::write(const std::string& line) {
  if (file_ == nullptr || line.empty()) return;
  const bool is_written =
      std::fwrite(line.data(), 1, line.size(), file_) == line.size() && std::fflush(file_) == 0;
  if (is_written) return;
  say_incomplete(std::strerror(errno));
}

}  // namespace gpuemu::libcuda
