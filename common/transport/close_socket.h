// Private to this folder: closes an NNG socket without blocking its owner forever.
//
// NNG 1.5 never returns from nng_close if a message arrives at the same moment (its IPC transport
// loses the receiver, as its TCP transport did: nanomsg/nng#1636), and from then on makes no
// connection in the process.
#pragma once

#include <nng/nng.h>

namespace gpuemu {

/// Closes the socket, after removing its pipe callbacks. If NNG does not return, gives up after a
/// second; the rest of the socket then ends with the process.
void close_socket(nng_socket socket);

/// Abandons a socket whose reply may still arrive. It is closed when enough other sockets were
/// abandoned later, so that the reply is old, or with the process. It does not dial again.
void leave_socket(nng_socket socket, nng_dialer dialer);

}  // namespace gpuemu
