// Lists the known projects, and finds the one that a request names.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>

#include "common/base/clock.h"
#include "common/base/project_id.h"
#include "common/base/unique_fd.h"
#include "daemon/server/config_watch.h"
#include "daemon/server/open_projects.h"
#include "daemon/server/project_entry.h"

namespace gpuemu {
namespace {

// Error messages repeat at most this many bytes of a name sent by a client.
constexpr size_t kNamedShownMax = 300;

// Counting a user's bytes takes no more than one part in this many of the time.
constexpr int kCountingShare = 20;
// The share for a user who has reached the limit, and may have pruned since.
constexpr int kRefusedCountingShare = 1;

std::string shown(const std::string& named) {
  if (named.size() <= kNamedShownMax) return named;
  size_t end = kNamedShownMax;
  while (end > 0 && (static_cast<unsigned char>(named[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("{}... ({} bytes)", named.substr(0, end), named.size());
}

Error no_project(const std::string& named, const std::string& why) {
  return error(ErrorCode::NotFound,
               "no project '{}': {}; expected the absolute path of a gpuemu.toml or an id that "
               "`gpuemu projects` lists",
               shown(named), why);
}

Status check_readable(const std::string& named, const std::string& file) {
  // Unlike access(), this uses the rights of the user for whom the thread acts.
  const UniqueFd readable(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!readable) return no_project(named, std::strerror(errno));
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) {
    return no_project(named, "it is not a file");
  }
  return ok_status();
}

}  // namespace

Result<StoredProject> OpenProjects::find(const std::string& named, const std::string& user) {
  if (named.find('\0') != std::string::npos) return no_project(named, "no path has a NUL");
  if (named.starts_with('/')) {
    const std::string file = canonical_path(named);
    GPUEMU_TRY(check_readable(named, file));
    return StoredProject{.id = space_of(project_id(file), user), .path = file, .name = ""};
  }
  {
    const std::lock_guard lock(mutex_);
    const std::string& project = named.empty() ? default_id_ : named;
    const std::string space = space_of(project, user);
    for (const std::string& one : {space, project}) {
      const auto found = entries_.find(one);
      if (found == entries_.end()) continue;
      StoredProject known = found->second->project;
      known.id = space;
      return known;
    }
  }
  if (named == kNoProject || named == kLegacyProject) {
    return StoredProject{.id = space_of(named, user), .path = "", .name = named};
  }
  for (StoredProject& one : GPUEMU_TRY(stores_.projects())) {
    if (project_of_space(one.id) != named) continue;
    one.id = space_of(named, user);
    return std::move(one);
  }
  return no_project(named, "this daemon has never met it");
}

Result<uint64_t> OpenProjects::bytes_of(const std::string& user, uint64_t limit) {
  const std::shared_ptr<CountedBytes> counted = [&] {
    const std::lock_guard lock(bytes_mutex_);
    std::shared_ptr<CountedBytes>& one = bytes_[user];
    if (one == nullptr) one = std::make_shared<CountedBytes>();
    return one;
  }();
  CountedBytes& known = *counted;
  const std::lock_guard lock(known.mutex);
  const auto start = Clock::now();
  const int share = known.bytes < limit ? kCountingShare : kRefusedCountingShare;
  if (start - known.counted < share * known.took) return known.bytes;
  uint64_t bytes = 0;
  for (const StoredProject& one : GPUEMU_TRY(stores_.projects())) {
    if (user_of_space(one.id) == user) bytes += GPUEMU_TRY(stores_.bytes(one.id));
  }
  const auto end = Clock::now();
  known.bytes = bytes;
  known.counted = end;
  known.took = end - start;
  return bytes;
}

std::vector<std::string> OpenProjects::with_op(const std::string& op,
                                               const std::string& user) const {
  std::vector<std::shared_ptr<Entry>> entries;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, entry] : entries_) {
      if (user_of_space(id) == user) entries.push_back(entry);
    }
  }
  std::vector<std::string> found;
  for (const auto& entry : entries) {
    std::shared_ptr<ConfigWatch> watch;
    {
      const std::unique_lock lock(entry->mutex, std::try_to_lock);
      if (lock) watch = entry->config;
    }
    const auto config = watch ? watch->current() : Result<std::shared_ptr<const Config>>(Error());
    if (config && (*config)->find_op(op) != nullptr) found.push_back((*config)->file);
  }
  std::ranges::sort(found);
  return found;
}

Result<std::vector<StoredProject>> OpenProjects::known() {
  std::map<std::string, StoredProject> all;
  for (StoredProject& one : GPUEMU_TRY(stores_.projects())) all[one.id] = std::move(one);
  const std::lock_guard lock(mutex_);
  for (const auto& [id, entry] : entries_) {
    StoredProject& one = all[id];
    const std::string name = one.name;
    one = entry->project;
    if (one.name.empty()) one.name = name;
  }
  std::vector<StoredProject> listed;
  for (auto& [id, one] : all) listed.push_back(std::move(one));
  return listed;
}

}  // namespace gpuemu
