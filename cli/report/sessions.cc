#include "cli/report/sessions.h"

#include <algorithm>

#include <fmt/core.h>

#include "cli/findings/one_line.h"
#include "common/base/text.h"
#include "common/protocol/names.h"

namespace gpuemu::cli {
namespace {

using Row = std::vector<std::string>;

constexpr double kMillisecondsPerSecond = 1000;
constexpr double kPercent = 100;

/// Returns the number of terminal columns, counting one per character, whatever its bytes.
size_t width_of(const std::string& text) {
  const auto begins = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; };
  return static_cast<size_t>(std::ranges::count_if(text, begins));
}

/// Formats columns as wide as their widest cell; the first `texts` cells left-aligned, numbers
/// right-aligned.
std::vector<std::string> table(const std::vector<Row>& rows, size_t texts) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - width_of(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (i < texts ? row[i] + gap : gap + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string mebibytes(uint64_t bytes) { return fmt::format("{} MiB", (bytes + 1048575) >> 20); }

}  // namespace

std::vector<std::string> session_lines(const std::vector<SessionInfo>& sessions) {
  std::vector<Row> rows = {
      {"SESSION", "USER", "CLASS", "PID", "WEIGHT", "RUNNING", "WAITING", "DEVICE TIME", "MEMORY"}};
  for (const SessionInfo& one : sessions) {
    rows.push_back({one_line(one.name), one_line(one.user), name_of(one.session_class),
                    fmt::format("{}", one.pid), fmt::format("{:g}", one.weight),
                    fmt::format("{}", one.running), fmt::format("{}", one.waiting),
                    fmt::format("{:.1f} s", one.device_ms / kMillisecondsPerSecond),
                    mebibytes(one.memory_bytes)});
  }
  return table(rows, 3);
}

std::vector<std::string> remote_worker_lines(const std::vector<RemoteWorkerInfo>& workers) {
  if (workers.empty()) return {};
  std::vector<Row> rows = {{"WORKER", "HOST", "STATE", "DEVICE", "ATTEMPTS", "LOST"}};
  for (const RemoteWorkerInfo& one : workers) {
    rows.push_back(
        {one_line(one.worker_id), one_line(one.host), name_of(one.state),
         fmt::format("{} {}", one_line(one.device.backend), one_line(one.device.architecture)),
         fmt::format("{}", one.attempts), fmt::format("{}", one.lost)});
  }
  return table(rows, 4);
}

std::vector<std::string> top_lines(const TopReply& top) {
  std::vector<std::string> lines = {fmt::format("{}, {}, {}", counted(top.devices.size(), "device"),
                                                counted(top.sessions.size(), "session"),
                                                counted(top.jobs.size(), "running job"))};
  const auto add = [&](const std::vector<std::string>& part) {
    lines.emplace_back();
    lines.insert(lines.end(), part.begin(), part.end());
  };
  std::vector<Row> devices = {{"DEVICE", "NAME", "SESSION", "BUSY", "QUEUE", "MEMORY"}};
  std::vector<Row> workers = {{"WORKER", "HOST", "STATE", "ATTEMPTS"}};
  for (const TopDevice& one : top.devices) {
    if (!one.state.empty()) {
      workers.push_back({one_line(one.worker_id), one_line(one.host), one_line(one.state),
                         fmt::format("{}", one.attempts)});
    }
    devices.push_back(
        {one_line(one.worker_id), one_line(one.name), one.session ? one_line(*one.session) : "-",
         fmt::format("{:.0f} %", one.busy * kPercent), fmt::format("{}", one.queue),
         fmt::format("{} of {}", mebibytes(one.memory_used_bytes), mebibytes(one.memory_bytes))});
  }
  add(table(devices, 3));
  if (workers.size() > 1) add(table(workers, 3));
  add(session_lines(top.sessions));
  std::vector<Row> jobs = {{"JOB", "SESSION", "REQUEST", "PROJECT", "DONE"}};
  for (const JobInfo& one : top.jobs) {
    jobs.push_back({fmt::format("{}", one.job_id), one_line(one.session), one_line(one.request),
                    one_line(one.project), fmt::format("{} of {}", one.done, one.total)});
  }
  if (!top.jobs.empty()) add(table(jobs, 4));
  return lines;
}

}  // namespace gpuemu::cli
