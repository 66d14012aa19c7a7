// Sessions: a client's claim on devices, what runs for it, and what there is of both.
// Written by tools/make_protocol.py from sessions.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuemu {

enum class JobState {
  Running,
  Done,
  Cancelled,
  Failed,
};
inline constexpr JobState kLastJobState = JobState::Failed;
/// The name on the wire, and back.
const char* name_of(JobState value);
std::optional<JobState> job_state_from_name(const std::string& name);

/// Says which work of a session is interactive: it goes before batch work, within a budget.
enum class SessionClass {
  Auto,  ///< Requests whose client waits, as for a single case.
  Interactive,  ///< All work of the session is.
  Batch,  ///< No work of the session is.
};
inline constexpr SessionClass kLastSessionClass = SessionClass::Batch;
/// The name on the wire, and back.
const char* name_of(SessionClass value);
std::optional<SessionClass> session_class_from_name(const std::string& name);

/// What a session may use; null: no limit.
struct SessionLimits {
  std::optional<uint64_t> memory_limit_mb;  ///< Device memory of the cases that run.
  uint64_t queue_max = 0;  ///< Unfinished requests and jobs.
  std::optional<double> time_limit_s;  ///< Device time.
  std::optional<uint64_t> lease_ms;  ///< It ends when no request follows within this time.
  bool operator==(const SessionLimits&) const = default;
};

/// A session as listings tell it. The secret that names it in requests is never among them.
struct SessionInfo {
  std::string name;
  std::string user;
  uint64_t pid = 0;  ///< The process that opened it; 0: not known.
  std::string project;  ///< The id of what its requests are about; "": the default.
  double weight = 0;
  SessionClass session_class = SessionClass::Auto;
  uint64_t connections = 0;
  int64_t opened = 0;  ///< Seconds since 1970.
  double device_ms = 0;  ///< Device time used so far.
  uint64_t running = 0;  ///< Unfinished requests and jobs that do not wait.
  uint64_t waiting = 0;  ///< Unfinished requests and jobs that wait for a lane.
  uint64_t memory_bytes = 0;  ///< Device memory of the cases that run.
  SessionLimits limits;
  bool operator==(const SessionInfo&) const = default;
};

/// A worker, and what it does.
struct TopDevice {
  uint64_t index = 0;
  std::string name;
  std::string worker_id;
  std::string host;
  double busy = 0;  ///< Share of the last second.
  uint64_t queue = 0;  ///< Cases that wait for a lane of its backend.
  uint64_t memory_used_bytes = 0;  ///< By the cases that run.
  uint64_t memory_bytes = 0;
  std::optional<std::string> session;  ///< The session whose case runs; null: none does.
  std::string state;  ///< A remote worker's: idle, busy or lost.
  uint64_t attempts = 0;  ///< Remote workers: runs of kernels that it was given.
  bool operator==(const TopDevice&) const = default;
};

/// A job that the daemon knows.
struct JobInfo {
  uint64_t job_id = 0;
  std::string project;
  std::string session;  ///< Its name.
  std::string request;  ///< Its type.
  JobState state = JobState::Running;
  uint64_t done = 0;
  uint64_t total = 0;
  std::string user;  ///< Owner of the job, on a daemon that several users share.
  bool operator==(const JobInfo&) const = default;
};

struct SessionOpenedReply {
  std::string session;  ///< The secret that names it in requests.
  std::string name;
  double weight = 0;
  SessionClass session_class = SessionClass::Auto;
  SessionLimits limits;
  bool operator==(const SessionOpenedReply&) const = default;
};

struct SessionInfoReply {
  SessionInfo info;
  bool operator==(const SessionInfoReply&) const = default;
};

struct SessionsReply {
  std::vector<SessionInfo> sessions;
  bool operator==(const SessionsReply&) const = default;
};

struct TopReply {
  int64_t time = 0;  ///< Seconds since 1970.
  std::vector<TopDevice> devices;
  std::vector<SessionInfo> sessions;
  std::vector<JobInfo> jobs;  ///< Running jobs of all projects.
  bool operator==(const TopReply&) const = default;
};

struct JobsReply {
  std::vector<JobInfo> jobs;
  bool operator==(const JobsReply&) const = default;
};

/// Opens a session with a share and limits of its own.
struct OpenSessionRequest {
  std::string name;  ///< In use: it gets " #2" and so on.
  std::optional<double> weight;  ///< From 0.01 to 100; absent: 1.
  std::optional<SessionClass> session_class;  ///< Absent: auto.
  std::optional<uint64_t> memory_limit_mb;
  std::optional<uint64_t> queue_max;  ///< Absent: 64.
  std::optional<double> time_limit_s;
  std::optional<uint64_t> lease_ms;  ///< Absent: 30000.
  std::string token;  ///< Where the daemon asks for one.
  bool operator==(const OpenSessionRequest&) const = default;
};

/// `gpuemu sessions close`: ends a session and what waits and runs for it. It needs session or
/// name.
struct CloseSessionRequest {
  std::string session;
  std::string name;
  bool operator==(const CloseSessionRequest&) const = default;
};

/// `gpuemu sessions set`: changes a session. It needs session or name.
struct SetSessionRequest {
  std::string session;
  std::string name;
  std::optional<double> weight;
  std::optional<SessionClass> session_class;
  std::optional<uint64_t> memory_limit_mb;
  std::optional<uint64_t> queue_max;
  std::optional<double> time_limit_s;
  std::optional<uint64_t> lease_ms;
  bool operator==(const SetSessionRequest&) const = default;
};

/// `gpuemu sessions`: the sessions that there are, in the order of their opening.
struct ListSessionsRequest {
  bool operator==(const ListSessionsRequest&) const = default;
};

/// `gpuemu top`: devices, sessions and the jobs that run.
struct TopRequest {
  bool operator==(const TopRequest&) const = default;
};

/// The jobs that run and the last that have ended.
struct JobListRequest {
  bool operator==(const JobListRequest&) const = default;
};

}  // namespace gpuemu
