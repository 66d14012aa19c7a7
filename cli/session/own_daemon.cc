#include "cli/session/own_daemon.h"

#include <ostream>

namespace gpuemu::cli {

OwnDaemon::~OwnDaemon() {
  if (!own_ || !session_.daemon_answers()) return;
  if (const Status stopped = session_.stop_daemon(); !stopped) {
    session_.err << "note: " << stopped.error().message << '\n';
  }
}

}  // namespace gpuemu::cli
