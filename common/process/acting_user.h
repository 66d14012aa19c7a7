// Threads that act for another user: they read and write files with that user's rights, and the
// programs that they start belong to that user. Threads that they start act for that user too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace gpuemu {

struct UserIds {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  ///< All that the user is in.
};

/// The user as the system knows it; one that it does not know has `fallback` as its only group.
UserIds ids_of_user(uid_t uid, gid_t fallback);

/// Whether threads of this process can act for other users: it must be root's.
bool may_act_for_others();

/// Lets the calling thread act for a user until it goes. REQUIRES: may_act_for_others().
class ActingUser {
 public:
  explicit ActingUser(const UserIds& user);
  ~ActingUser();
  ActingUser(const ActingUser&) = delete;
  ActingUser& operator=(const ActingUser&) = delete;

 private:
  friend class ActingOwner;
  const UserIds before_;
};

/// Lets the calling thread act for the process's own user until it goes, as what works on files of
/// the process must, whoever it works for. Nothing changes where it does so already.
class ActingOwner {
 public:
  ActingOwner();
  ~ActingOwner();
  ActingOwner(const ActingOwner&) = delete;
  ActingOwner& operator=(const ActingOwner&) = delete;

 private:
  std::optional<UserIds> before_;  ///< Nothing: it did so before.
};

/// The user for whom the calling thread acts; nothing for the process's own.
std::optional<UserIds> acting_for();

/// "NAME=value" for the programs that the calling thread starts: this process's variables, or where
/// it acts for a user those of them that every user may know.
std::vector<std::string> environment_of_thread();

}  // namespace gpuemu
