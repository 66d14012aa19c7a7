// gpuemu-check: generates and judges cases for the process that starts it, over standard input and
// output.
#include <csignal>
#include <cstdio>

#include <unistd.h>

#include "daemon/judge_service/service.h"

int GPUEMU_MAIN(int count, char**) {
  if (count > 1) {
    std::fputs(
        "usage: gpuemu-check\nThe Python package starts it; requests come on standard input.\n",
        stderr);
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C in a terminal is meant for the program that started it.
  // Replies use a descriptor of their own: a library that prints must not corrupt the stream.
  const int out = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  const gpuemu::Status served = gpuemu::serve_checks(STDIN_FILENO, out);
  if (served.ok()) return 0;
  std::fprintf(stderr, "gpuemu-check: %s\n", served.error().message.c_str());
  return 1;
}
