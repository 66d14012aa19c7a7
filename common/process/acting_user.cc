// Linux keeps credentials per thread, but the C library's functions change those of all threads, so
// these are direct system calls. Only the file-system user is changed: if the other ids changed
// too, that user could send signals to the thread.
#include "common/process/acting_user.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <grp.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuemu {
namespace {

constexpr size_t kUserRecordBytes = 16'384;
constexpr int kGroupsMax = 65'536;

uid_t fs_user() { return static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1))); }
gid_t fs_group() { return static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1))); }

std::vector<gid_t> groups_of_thread() {
  std::vector<gid_t> groups(static_cast<size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<size_t>(std::max(0, count)));
  return groups;
}

/// The credentials with which the process started.
const UserIds kOwn{::geteuid(), ::getegid(), groups_of_thread()};

/// Ends the process if the thread would keep rights that it must not have.
void take(const UserIds& user) {
  // As root, because only root may change groups.
  ::setfsuid(kOwn.uid);
  const bool grouped = ::syscall(SYS_setgroups, user.groups.size(), user.groups.data()) == 0;
  ::setfsgid(user.gid);
  ::setfsuid(user.uid);
  if (!grouped || fs_user() != user.uid || fs_group() != user.gid) ::abort();
}

struct Entry {
  std::vector<char> text = std::vector<char>(kUserRecordBytes);
  passwd record{};
  passwd* found = nullptr;

  explicit Entry(uid_t uid) { ::getpwuid_r(uid, &record, text.data(), text.size(), &found); }
};

/// Returns whether it is a variable that a program needs for its libraries, devices or the user's
/// language.
bool is_for_all(std::string_view variable) {
  constexpr std::string_view kNames[] = {"PATH=", "LANG=", "TZ=", "LD_LIBRARY_PATH="};
  constexpr std::string_view kPrefixes[] = {"LC_",  "CUDA_",   "NVIDIA_",  "OMP_",
                                            "MKL_", "GPUEMU_", "OPENBLAS_"};
  for (const std::string_view name : kNames) {
    if (variable.starts_with(name)) return true;
  }
  for (const std::string_view prefix : kPrefixes) {
    if (variable.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

UserIds ids_of_user(uid_t uid, gid_t fallback) {
  const Entry entry(uid);
  if (entry.found == nullptr) return {uid, fallback, {fallback}};
  UserIds ids{uid, entry.found->pw_gid, {}};
  int count = 64;
  ids.groups.resize(static_cast<size_t>(count));
  while (::getgrouplist(entry.found->pw_name, ids.gid, ids.groups.data(), &count) < 0) {
    if (count > kGroupsMax) return {uid, ids.gid, {ids.gid}};
    ids.groups.resize(static_cast<size_t>(count));
  }
  ids.groups.resize(static_cast<size_t>(count));
  return ids;
}

bool may_act_for_others() { return kOwn.uid == 0; }

ActingUser::ActingUser(const UserIds& user) : before_{fs_user(), fs_group(), groups_of_thread()} {
  take(user);
}

ActingUser::~ActingUser() { take(before_); }

ActingOwner::ActingOwner() : before_(acting_for()) {
  if (before_) take(kOwn);
}

ActingOwner::~ActingOwner() {
  if (before_) take(*before_);
}

std::optional<UserIds> acting_for() {
  const uid_t user = fs_user();
  if (user == kOwn.uid) return std::nullopt;
  return UserIds{user, fs_group(), groups_of_thread()};
}

std::vector<std::string> environment_of_thread() {
  const auto user = acting_for();
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!user || is_for_all(*variable)) all.emplace_back(*variable);
  }
  if (!user) return all;
  const Entry entry(user->uid);
  if (entry.found == nullptr) {
    all.emplace_back("HOME=/");
    return all;
  }
  all.push_back(std::string("HOME=") + entry.found->pw_dir);
  all.push_back(std::string("USER=") + entry.found->pw_name);
  all.push_back(std::string("LOGNAME=") + entry.found->pw_name);
  return all;
}

}  // namespace gpuemu
