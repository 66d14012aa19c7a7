// What every subcommand works with: configuration, the daemon, the streams. Subcommands are tested
// with streams of their own.
#pragma once

#include <atomic>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>

#include "common/config/config.h"
#include "common/protocol/json_codec.h"
#include "common/transport/client.h"

namespace gpuemu::cli {

enum class ExitCode { Ok = 0, Findings = 1, Usage = 2, Broken = 3, Interrupted = 130 };

/// One thread.
class Session {
 public:
  /// The streams and the flag outlive the session.
  Session(std::ostream& output, std::ostream& errors, const std::atomic<bool>& stop)
      : out(output), err(errors), interrupted(stop) {}

  std::ostream& out;
  std::ostream& err;
  const std::atomic<bool>& interrupted;  ///< Ctrl-C was pressed.
  std::map<std::string, std::string> environment;
  std::string working_folder;
  std::string program_folder;  ///< Where gpuemu-daemon lies beside this program.
  bool terminal = false;       ///< Progress may be drawn on err.
  std::string config_file;     ///< --config
  bool verbose = false;
  ExitCode exit_code = ExitCode::Ok;

  /// Prints every problem and answers nothing when gpuemu.toml is wrong.
  std::optional<Config> config();
  /// Where the daemon listens, also when the project's file is wrong.
  Result<std::string> socket_path();

  /// Starts a daemon when none runs, or when an idle one serves another project.
  Status ensure_daemon();
  /// InvalidArgument, Unavailable or Timeout; an Error reply of the daemon is a reply.
  Result<Reply> call(const Request& request);
  /// The same, as the daemon's own JSON text.
  Result<std::string> call_text(const Request& request);
  /// True when a daemon answers now; starts none.
  bool daemon_answers();

  /// Prints and maps to an exit code.
  ExitCode fail(const Error& error);
  ExitCode fail(const ErrorReply& reply);

 private:
  Status connect();
  Status start_daemon();
  std::optional<Client> client_;
};

}  // namespace gpuemu::cli
