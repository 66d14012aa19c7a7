// A worker in a process of its own, so that a kernel that crashes it affects nothing else.
#include "daemon/worker/busy_wait.h"
#include "daemon/worker/worker_client.h"

namespace gpuemu {
namespace {

class WorkerProcess final : public WorkerLink {
 public:
  Status start(const WorkerOptions& options, std::span<const Arena* const> arenas) override;
  bool running() override { return child_.running(); }
  Status send(std::span<const std::byte> bytes, Deadline deadline) override {
    return child_.send(bytes, deadline);
  }
  Status receive(std::vector<std::byte>& to, size_t bytes_max, Deadline deadline) override {
    return child_.receive(to, bytes_max, deadline, busy_wait_);
  }
  void kill() override { child_.kill(); }
  void stop(Deadline deadline) override { child_.stop(deadline); }
  int pid() const override { return static_cast<int>(child_.pid()); }
  std::string error_tail() override { return child_.error_tail(); }
  std::string ending() const override { return child_.ending(); }

 private:
  ChildProcess child_;
  std::chrono::microseconds busy_wait_{0};
};

Status WorkerProcess::start(const WorkerOptions& options, std::span<const Arena* const> arenas) {
  ChildOptions child;
  child.command = {options.program,
                   "--backend",
                   options.backend,
                   "--device",
                   std::to_string(options.device_index),
                   "--sm",
                   std::to_string(options.sm),
                   "--threads",
                   std::to_string(options.threads),
                   "--contraction",
                   options.contraction,
                   "--contraction-seed",
                   std::to_string(options.contraction_seed),
                   "--memory-limit",
                   std::to_string(options.memory_limit_bytes),
                   "--socket-fd",
                   std::to_string(kChildSocket),
                   "--arena-fd",
                   std::to_string(kChildFirstInherited),
                   "--arenas",
                   std::to_string(arenas.size())};
  if (!options.emulated_devices.empty()) {
    child.command.insert(child.command.end(), {"--emulated-devices", options.emulated_devices});
  }
  if (!options.cache_folder.empty()) {
    child.command.insert(child.command.end(), {"--cache", options.cache_folder});
  }
  for (const Arena* arena : arenas) child.inherit.push_back(arena->fd());
  busy_wait_ = busy_wait_of(options.backend);
  child_ = GPUEMU_TRY(ChildProcess::spawn(child));
  return ok_status();
}

}  // namespace

std::unique_ptr<WorkerLink> worker_process() { return std::make_unique<WorkerProcess>(); }

}  // namespace gpuemu
