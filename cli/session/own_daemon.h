// For commands that leave things as they found them.
#pragma once

#include "cli/session/session.h"

namespace gpuemu::cli {

/// Ends the daemon that a command has started, whatever way the command is left; one that ran
/// before stays.
class OwnDaemon {
 public:
  explicit OwnDaemon(Session& session) : session_(session), own_(!session.daemon_answers()) {}
  ~OwnDaemon();
  OwnDaemon(const OwnDaemon&) = delete;
  OwnDaemon& operator=(const OwnDaemon&) = delete;

 private:
  Session& session_;
  const bool own_;
};

}  // namespace gpuemu::cli
