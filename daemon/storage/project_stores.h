// The database of all projects: what one project keeps, no other sees. All calls from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/storage/store.h"

namespace gpuemu {

/// A project as the database knows it.
struct StoredProject {
  std::string id;
  std::string path;       ///< Its gpuemu.toml, canonical; "" for one that has none.
  std::string name;       ///< For people; need not be unique.
  int64_t last_used = 0;  ///< Seconds since 1970.

  bool operator==(const StoredProject&) const = default;
};

/// Which records one project takes from another: those of these ops and kernels.
struct Taking {
  std::string from, to;  ///< Ids.
  std::set<std::string> ops, kernels;
};
struct Taken {
  uint64_t results = 0, failures = 0, baselines = 0, artifacts = 0, corpus = 0;

  bool operator==(const Taken&) const = default;
};

class ProjectStores {
 public:
  virtual ~ProjectStores() = default;

  /// The records of one project, by its id; the same store each time.
  virtual Result<std::shared_ptr<Store>> of(const std::string& project) = 0;
  /// Puts it into the list of projects, or its path, name and time in place of those there.
  virtual Status remember(const StoredProject& project) = 0;
  /// In order of id.
  virtual Result<std::vector<StoredProject>> projects() = 0;
  /// Moves records, each with all that belongs to it in one step. Where `to` has one of the same
  /// name already, both stay where they are, but for results, of which the newer stays.
  virtual Result<Taken> take(const Taking& taking) = 0;
  /// What a user should know about how the database was found; "" for nothing.
  virtual std::string note() const { return ""; }
};

/// A project, and the names by which records of before projects were told apart are known as its.
struct ProjectNames {
  std::string id;
  std::set<std::string> ops, kernels;
};

/// Opens or creates the database folder. One that knows no projects becomes one that does, in a
/// step that a crash leaves undone or done: what `first` has a name of goes to it, the rest to
/// kLegacyProject, and the database of before is kept beside the folder as FOLDER.schema1.
/// Unavailable when another daemon has it open, Unsupported when a newer gpuemu wrote it,
/// Corruption as check_store, ResourceExhausted without room to migrate it, Io otherwise.
Result<std::unique_ptr<ProjectStores>> open_stores(const std::filesystem::path& folder,
                                                   const ProjectNames& first);

}  // namespace gpuemu
