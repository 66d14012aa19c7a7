// A project as the database knows it.
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

}  // namespace gpuemu
