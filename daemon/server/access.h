// Decides which requests a user of a shared daemon may make.
#pragma once

#include <optional>
#include <string>

#include "common/protocol/errors.gen.h"
#include "common/protocol/requests.h"
#include "common/transport/server.h"
#include "daemon/sessions/sessions.h"

namespace gpuemu {

/// Returns why the user ("" for the daemon's) may not make this request; nothing if it is allowed.
std::optional<ErrorReply> refusal(const Request& request, const std::string& user,
                                  const Share& share);
/// Returns why a session that was opened without the token that the daemon requires may not make
/// this request; nothing if it is allowed.
std::optional<ErrorReply> token_refusal(const Request& request, const Sessions::Visit& visit);

/// Returns whether the request needs the user's own files or programs.
bool runs_files(const Request& request);

/// Returns whether it stores records without running anything.
bool stores_records(const Request& request);

/// Returns the log line about a refused client.
std::string refused_line(const ErrorReply& reply, const ClientPeer& peer);
/// Waits, so that guesses of the token are not answered immediately.
void delay_unauthorized();

}  // namespace gpuemu
