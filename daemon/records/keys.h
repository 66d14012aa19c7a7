// The keys of the database. Numbers have 20 digits, so that keys sort like numbers. A name that is
// followed by more text is preceded by its length, so that it may contain any bytes, even ':'.
//
//   results             {op}:{seed}                          the fixed width of seed ends the op
//   failures            {op}:{seed}:{stamp}
//   baselines           {length}:{tag}:                      the tag itself
//                       {length}:{tag}:{op}:{seed}           its results
//   artifacts           {kernel}:{stamp}                     the newest and earlier ones
//   artifact_baselines  {length}:{tag}:  {length}:{tag}::{kernel}
//   corpus              {length}:{op}:{stamp}
//   index               rt:{~stamp}  rs:{seed}:{~stamp}      newest first -> key in results
//                       ft:{~stamp}  fs:{seed}:{~stamp}      newest first -> key in failures
//   meta                user:{name}
//
// Every key starts with the prefix of its project, "{project}/"; the keys that index entries hold
// omit it. Two kinds of meta keys belong to no project:
//
//   meta                schema_version  project:{project}
//
// A stamp is the time in microseconds since 1970, increased if necessary to make it unique. An
// index entry is valid only while the record that it refers to has the same stamp: replacing a
// result invalidates the old entry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace gpuemu::storage {

inline constexpr uint64_t kSchemaVersion = 2;
/// The last schema without projects: its keys have no project prefix.
inline constexpr uint64_t kSchemaWithoutProjects = 1;
inline constexpr std::string_view kSchemaVersionKey = "schema_version";

/// "{project}/", the prefix of a project's keys. REQUIRES: the id has no '/'.
inline std::string project_prefix(std::string_view project) { return fmt::format("{}/", project); }
/// Prefix of the names that a project stores in meta.
inline constexpr std::string_view kUserPrefix = "user:";
/// Prefix of the project ids in meta, one key for each project.
inline constexpr std::string_view kProjectPrefix = "project:";

inline std::string result_key(std::string_view op, uint64_t seed) {
  return fmt::format("{}:{:020}", op, seed);
}
inline std::string failure_key(std::string_view op, uint64_t seed, uint64_t stamp) {
  return fmt::format("{}:{:020}:{:020}", op, seed, stamp);
}
/// The op in a result's key; nullopt for other text.
std::optional<std::string_view> op_of_result_key(std::string_view key);
/// The seed in a result's key; nullopt for other text.
std::optional<uint64_t> seed_of_result_key(std::string_view key);
/// The name in a key that starts with owner_prefix(name); nullopt for other keys.
std::optional<std::string_view> owner_of(std::string_view key);
/// The parts of a failure's key.
struct FailureKey {
  std::string_view op;
  uint64_t seed = 0, stamp = 0;
};
std::optional<FailureKey> parse_failure_key(std::string_view key);
/// `stamp` is the time from which these were the kernel's metrics.
inline std::string artifact_key(std::string_view kernel, uint64_t stamp) {
  return fmt::format("{}:{:020}", kernel, stamp);
}
/// The parts of the key of a kernel's metrics.
struct ArtifactKey {
  std::string_view kernel;
  uint64_t stamp = 0;
};
std::optional<ArtifactKey> parse_artifact_key(std::string_view key);
/// "{length}:{name}:", the prefix of every key that belongs to the name.
inline std::string owner_prefix(std::string_view name) {
  return fmt::format("{:06}:{}:", name.size(), name);
}
/// `kind` is 'r' for results or 'f' for failures.
inline std::string time_key(char kind, uint64_t stamp) {
  return fmt::format("{}t:{:020}", kind, ~stamp);
}
inline std::string seed_prefix(char kind, uint64_t seed) {
  return fmt::format("{}s:{:020}:", kind, seed);
}
inline std::string seed_key(char kind, uint64_t seed, uint64_t stamp) {
  return fmt::format("{}{:020}", seed_prefix(kind, seed), ~stamp);
}

}  // namespace gpuemu::storage
