// Private to this folder: the end of an NNG socket that cannot keep its owner for ever.
//
// NNG 1.5 never returns from nng_close where a message arrives at the same moment (its IPC
// transport forgets who receives, as its TCP one did: nanomsg/nng#1636), and makes no connection
// in the process from then on.
#pragma once

#include <nng/nng.h>

namespace gpuemu {

/// Closes the socket; its pipe callbacks are taken off first. Where NNG does not return, this does
/// after a second, and what is left of the socket ends with the process.
void close_socket(nng_socket socket);

/// Ends the use of a socket whose reply may still arrive: it is closed when so many others were
/// left after it that the reply is old, or else with the process. It does not dial again.
void leave_socket(nng_socket socket, nng_dialer dialer);

}  // namespace gpuemu
