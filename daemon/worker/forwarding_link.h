// A link to a worker that another link provides.
#pragma once

#include <memory>
#include <utility>

#include "daemon/worker/worker_client.h"

namespace gpuemu {

/// Passes each call on to another link. Classes derived from it replace some of them.
class ForwardingLink : public WorkerLink {
 public:
  explicit ForwardingLink(std::unique_ptr<WorkerLink> link) : link_(std::move(link)) {}
  Status start(const WorkerOptions& options, std::span<const Arena* const> arenas) override {
    return link_->start(options, arenas);
  }
  bool running() override { return link_->running(); }
  Status send(std::span<const std::byte> bytes, Deadline deadline) override {
    return link_->send(bytes, deadline);
  }
  Status receive(std::vector<std::byte>& to, size_t bytes_max, Deadline deadline) override {
    return link_->receive(to, bytes_max, deadline);
  }
  void kill() override { link_->kill(); }
  void stop(Deadline deadline) override { link_->stop(deadline); }
  int pid() const override { return link_->pid(); }
  std::string error_tail() override { return link_->error_tail(); }
  std::string ending() const override { return link_->ending(); }

 protected:
  std::unique_ptr<WorkerLink> link_;
};

}  // namespace gpuemu
