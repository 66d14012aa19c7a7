// A project as stored in the database.
#pragma once

#include <cstdint>
#include <string>

namespace gpuemu {

struct StoredProject {
  std::string id;
  std::string path;       ///< Canonical path of its gpuemu.toml; "" for none.
  std::string name;       ///< For display; need not be unique.
  int64_t last_used = 0;  ///< Seconds since 1970.

  bool operator==(const StoredProject&) const = default;
};

/// Records that belong to a single user of a project are in a space of their own, whose id is
/// "PROJECT@USER". The records of the daemon's user are in the project itself.
inline constexpr char kSpaceMark = '@';
inline std::string space_of(const std::string& project, const std::string& user) {
  return user.empty() ? project : project + kSpaceMark + user;
}
inline std::string project_of_space(const std::string& space) {
  return space.substr(0, space.find(kSpaceMark));
}
/// Returns "" for the daemon's user.
inline std::string user_of_space(const std::string& space) {
  const size_t mark = space.find(kSpaceMark);
  return mark == std::string::npos ? "" : space.substr(mark + 1);
}

}  // namespace gpuemu
