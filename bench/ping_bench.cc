// Measures a Ping of the daemon, compared with an echo over bare NNG: the same client, the same
// kind of socket, a server process each, alternately.
//   gpuemu_bench_ping FOLDER_OF_gpuemu-daemon [rounds = 2000]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/transport/client.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kWarmUp = 200;
constexpr char kPing[] = R"({"type":"Ping"})";

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "gpuemu_bench_ping: %s\n", what.c_str());
  std::exit(1);
}

void expect(int nng_result, const char* what) {
  if (nng_result != 0) fail(std::string(what) + ": " + nng_strerror(nng_result));
}

[[noreturn]] void serve_echo(const std::string& address) {
  nng_socket socket;
  expect(nng_rep0_open(&socket), "open");
  expect(nng_listen(socket, address.c_str(), nullptr, 0), "listen");
  for (;;) {
    nng_msg* message = nullptr;
    expect(nng_recvmsg(socket, &message, 0), "receive");
    expect(nng_sendmsg(socket, message, 0), "send");
  }
}

[[noreturn]] void become_daemon(const std::string& program, const std::filesystem::path& folder) {
  ::setenv("HOME", folder.c_str(), 1);
  ::setenv("GPUEMU_SOCKET", (folder / "gpuemu.sock").c_str(), 1);
  ::setenv("GPUEMU_DB", (folder / "db").c_str(), 1);
  if (::chdir(folder.c_str()) != 0) ::_exit(1);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDOUT_FILENO);
  ::execl(program.c_str(), program.c_str(), nullptr);
  std::perror(program.c_str());
  ::_exit(1);
}

/// A server in a separate process, ended by the destructor.
class ServerProcess {
 public:
  template <typename Work>
  explicit ServerProcess(Work work) : pid_(::fork()) {
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) work();
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

void wait_for(const std::filesystem::path& path) {
  for (int i = 0; i < 3000 && !std::filesystem::exists(path); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// A client of bare NNG, used for both servers.
class BareClient {
 public:
  explicit BareClient(const std::string& address) {
    expect(nng_req0_open(&socket_), "open");
    expect(nng_dial(socket_, address.c_str(), nullptr, 0), address.c_str());
  }
  BareClient(const BareClient&) = delete;
  BareClient& operator=(const BareClient&) = delete;
  ~BareClient() { nng_close(socket_); }

  double microseconds() {
    const auto start = Clock::now();
    nng_msg* message = nullptr;
    expect(nng_msg_alloc(&message, 0), "allocate");
    expect(nng_msg_append(message, kPing, sizeof kPing - 1), "append");
    expect(nng_sendmsg(socket_, message, 0), "send");
    expect(nng_recvmsg(socket_, &message, 0), "receive");
    if (nng_msg_len(message) < sizeof kPing - 1) fail("a reply that is too short");
    nng_msg_free(message);
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }

 private:
  nng_socket socket_ = NNG_SOCKET_INITIALIZER;
};

double microseconds_of(gpuemu::Client& client) {
  const auto start = Clock::now();
  const auto reply = client.request(kPing, std::chrono::seconds(10));
  if (!reply) fail(reply.error().message);
  if (reply->find("\"Pong\"") == std::string::npos) fail("no Pong: " + *reply);
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

void measure(const std::filesystem::path& folder, int rounds) {
  wait_for(folder / "echo.sock");
  wait_for(folder / "gpuemu.sock");
  BareClient echo("ipc://" + (folder / "echo.sock").native());
  BareClient bare("ipc://" + (folder / "gpuemu.sock").native());
  auto ours = gpuemu::Client::connect((folder / "gpuemu.sock").native(), std::chrono::seconds(10));
  if (!ours) fail(ours.error().message);
  std::vector<double> echoes, pings, client_pings;
  for (int round = -kWarmUp; round < rounds; ++round) {
    const double times[] = {echo.microseconds(), bare.microseconds(), microseconds_of(*ours)};
    if (round < 0) continue;
    echoes.push_back(times[0]);
    pings.push_back(times[1]);
    client_pings.push_back(times[2]);
  }
  const double base = median(echoes);
  std::printf("%-44s %10s %8s\n", "", "median us", "ratio");
  std::printf("%-44s %10.1f %8.2f\n", "bare NNG client, bare NNG echo", base, 1.0);
  std::printf("%-44s %10.1f %8.2f\n", "bare NNG client, Ping of gpuemu-daemon", median(pings),
              median(pings) / base);
  std::printf("%-44s %10.1f %8.2f\n", "gpuemu's client, Ping of gpuemu-daemon",
              median(client_pings), median(client_pings) / base);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 2000;
  if (argc < 2 || rounds < 1) {
    std::fprintf(stderr, "usage: gpuemu_bench_ping FOLDER_OF_gpuemu-daemon [rounds]\n");
    return 2;
  }
  const std::string program = (std::filesystem::absolute(argv[1]) / "gpuemu-daemon").native();
  std::string name = "/tmp/gpuemu-bench-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) fail("no temporary folder");
  const std::filesystem::path folder = name;
  {
    const ServerProcess echo([&] { serve_echo("ipc://" + (folder / "echo.sock").native()); });
    const ServerProcess daemon([&] { become_daemon(program, folder); });
    measure(folder, rounds);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
