// Stops daemons of commands that must leave everything as they found it.
#pragma once

#include "cli/session/session.h"

namespace gpuemu::cli {

/// Stops the daemon that a command has started, however the command ends; a daemon that ran before
/// is left alone.
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
