#include "cli/scaffold/file_plan.h"

#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/config/stub_reference.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kBackupsMax = 1000;

Result<fs::path> backup_path(const fs::path& file) {
  std::error_code ignored;
  for (int number = 1; number < kBackupsMax; ++number) {
    const fs::path kept = file.string() + (number == 1 ? ".bak" : ".bak" + std::to_string(number));
    if (!fs::exists(fs::symlink_status(kept, ignored))) return kept;
  }
  return error(ErrorCode::Io, "{} has {} backups; remove some", file.string(), kBackupsMax);
}

/// Returns whether the file is there and more than a stub.
bool is_written(const fs::path& file) {
  std::error_code failed;
  if (!fs::exists(fs::symlink_status(file, failed))) return false;
  const auto text = read_file(file, kSourceBytesMax);
  return !text || !is_stub_reference(*text);
}

bool has_text(const fs::path& file, const std::string& text) {
  const auto old = read_file(file, kSourceBytesMax);
  return old && *old == text;
}

/// Undoes the recorded changes, unless told to keep them.
class Undo {
 public:
  ~Undo() {
    if (kept_) return;
    std::error_code ignored;
    for (const fs::path& file : written_) fs::remove(file, ignored);
    for (const auto& [file, backup] : moved_) fs::rename(backup, file, ignored);
  }
  void written(const fs::path& file) { written_.push_back(file); }
  void moved(const fs::path& file, const fs::path& backup) { moved_.emplace_back(file, backup); }
  void keep() { kept_ = true; }

 private:
  bool kept_ = false;
  std::vector<fs::path> written_;
  std::vector<std::pair<fs::path, fs::path>> moved_;
};

}  // namespace

Result<WrittenFiles> write_files(const FilePlan& plan, bool force) {
  std::error_code failed;
  std::string existing;
  for (const auto& [name, text] : plan.files) {
    if (plan.stubs.contains(name)) continue;
    if (!fs::exists(fs::symlink_status(plan.folder / name, failed))) continue;
    existing += (existing.empty() ? "" : ", ") + name;
  }
  if (!existing.empty() && !force) {
    return error(ErrorCode::InvalidArgument,
                 "{} already has {}; nothing was written. --force replaces and keeps a backup",
                 plan.folder.string(), existing);
  }
  WrittenFiles done;
  Undo undo;
  for (const auto& [name, text] : plan.files) {
    const fs::path file = plan.folder / name;
    fs::create_directories(file.parent_path(), failed);
    if (failed) {
      return error(ErrorCode::Io, "cannot make the folder {}: {}", file.parent_path().string(),
                   failed.message());
    }
    if (plan.stubs.contains(name) && is_written(file)) {
      done.kept.push_back(name);
      continue;
    }
    const bool is_same_stub = plan.stubs.contains(name) && has_text(file, text);
    if (fs::exists(fs::symlink_status(file, failed)) && !is_same_stub) {
      const fs::path backup = GPUEMU_TRY(backup_path(file));
      fs::rename(file, backup, failed);
      if (failed) {
        return error(ErrorCode::Io, "cannot rename {} to {}: {}", file.string(), backup.string(),
                     failed.message());
      }
      undo.moved(file, backup);
      done.backups[name] = backup.filename().string();
    }
    GPUEMU_TRY(write_file(file, text));
    undo.written(file);
    done.written.push_back(name);
  }
  undo.keep();
  return done;
}

}  // namespace gpuemu::cli
