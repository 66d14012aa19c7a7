// Threads that act for another user: they access files with that user's rights, and the programs
// and threads that they start belong to that user.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace gpuemu {

struct UserIds {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  ///< All groups of the user.
};

/// Looks up the user; an unknown user gets `fallback` as the only group.
UserIds ids_of_user(uid_t uid, gid_t fallback);

/// Returns whether threads of this process can act for other users, which requires root.
bool may_act_for_others();

/// Lets the calling thread act for a user during the object's lifetime. Requires
/// may_act_for_others().
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

/// Lets the calling thread act for the process's own user during the object's lifetime, for work on
/// the process's own files. Has no effect if it already does.
class ActingOwner {
 public:
  ActingOwner();
  ~ActingOwner();
  ActingOwner(const ActingOwner&) = delete;
  ActingOwner& operator=(const ActingOwner&) = delete;

 private:
  std::optional<UserIds> before_;  ///< Empty if it already acted for the own user.
};

/// Returns the user for whom the calling thread acts; nothing for the process's own user.
std::optional<UserIds> acting_for();

/// Returns the environment, as "NAME=value", for programs that the calling thread starts: this
/// process's variables or, if it acts for another user, those that every user may know.
std::vector<std::string> environment_of_thread();

}  // namespace gpuemu
