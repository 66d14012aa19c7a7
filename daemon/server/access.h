// What users of a shared daemon may ask for.
#pragma once

#include <optional>
#include <string>

#include "common/protocol/replies.h"
#include "common/protocol/requests.h"
#include "common/transport/server.h"
#include "daemon/sessions/sessions.h"

namespace gpuemu {

/// Why the user, "" for the daemon's, may not ask for this; nothing where that is fine.
std::optional<ErrorReply> refusal(const Request& request, const std::string& user,
                                  const Share& share);
/// As refusal(), of a session that was opened without the token that the daemon asks for.
std::optional<ErrorReply> token_refusal(const Request& request, const Sessions::Visit& visit);

/// Whether work on it needs the user's own files or programs.
bool runs_files(const Request& request);

/// Whether it stores records without running anything.
bool stores_records(const Request& request);

/// What the log says of a client that was refused.
std::string refused_line(const ErrorReply& reply, const ClientPeer& peer);
/// Waits: a guess at the token must not be answered at once.
void delay_unauthorized();

}  // namespace gpuemu
