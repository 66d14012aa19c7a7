// gpuemu-device: provides a device to the process that starts it, over standard input and output.
#include <csignal>
#include <cstdio>

#include <unistd.h>

#include "bindings/device_pipe/host.h"

int GPUEMU_MAIN(int count, char**) {
  if (count > 1) {
    std::fputs(
        "usage: gpuemu-device\nThe Python package starts it; requests come on standard "
        "input.\n",
        stderr);
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C in a terminal is meant for the client.
  // Replies have a separate descriptor, because a library that prints must not break the stream.
  const int out = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  const gpuemu::Status served = gpuemu::host::serve(STDIN_FILENO, out);
  if (served.ok()) return 0;
  std::fprintf(stderr, "gpuemu-device: %s\n", served.error().message.c_str());
  return 1;
}
