// Real sockets in a temporary folder; figures of one round trip are printed, not judged.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <future>
#include <latch>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "common/base/unique_fd.h"
#include "common/transport/client.h"
#include "common/transport/server.h"

namespace gpuemu {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPatience{10'000};

class Transport : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/gpuemu_transport_XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    path_ = folder_ / "home" / "gpuemu.sock";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Server> serve(Server::Handler handler) {
    auto server = Server::listen(path_, std::move(handler));
    EXPECT_TRUE(server) << server.error().message;
    return server ? *std::move(server) : nullptr;
  }
  Client dial() {
    auto client = Client::connect(path_.native(), kPatience);
    if (!client) ADD_FAILURE() << client.error().message;
    return *std::move(client);
  }
  static std::string echo(std::string_view request, const ClientPeer&) {
    return "echo " + std::string(request);
  }

  UniqueFd raw(bool listens) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    const auto* target = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(listens ? ::bind(fd.get(), target, sizeof(address))
                      : ::connect(fd.get(), target, sizeof(address)),
              0);
    return fd;
  }

  std::filesystem::path folder_, path_;
};

TEST_F(Transport, AnswersWhatWasAsked) {
  auto server = serve(echo);
  Client client = dial();
  for (const std::string text : {"a", "", "third"}) {
    auto reply = client.request(text, kPatience);
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(*reply, "echo " + text);
  }
}

TEST_F(Transport, MakesFolderAndSocketForTheirOwnerOnly) {
  auto server = serve(echo);
  struct stat file{};
  ASSERT_EQ(::stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat(path_.parent_path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0700U);
}

TEST_F(Transport, OneSlowRequestDelaysNobodyElse) {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  auto server = serve([released](std::string_view request, const ClientPeer&) {
    if (request == "slow") released.wait();
    return std::string(request);
  });
  auto slow = std::async(std::launch::async, [&] { return dial().request("slow", kPatience); });
  std::vector<std::thread> clients;
  std::atomic<int> answered{0};
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&, i] {
      Client client = dial();
      for (int k = 0; k < 50; ++k) {
        const std::string text = std::to_string(i * 1000 + k);
        auto reply = client.request(text, kPatience);
        if (reply && *reply == text) ++answered;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 400);
  EXPECT_EQ(slow.wait_for(milliseconds(0)), std::future_status::timeout);
  release.set_value();
  auto reply = slow.get();
  ASSERT_TRUE(reply);
  EXPECT_EQ(*reply, "slow");
}

TEST_F(Transport, CarriesSixtyFourMebibytes) {
  auto server =
      serve([](std::string_view request, const ClientPeer&) { return std::string(request); });
  std::string large(size_t{64} << 20, 'x');
  large[12345] = 'y';
  auto reply = dial().request(large, kPatience);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_TRUE(*reply == large);
}

TEST_F(Transport, ReplacesTheSocketOfADeadDaemon) {
  std::filesystem::create_directories(path_.parent_path());
  {
    const UniqueFd dead = raw(true);
  }
  ASSERT_TRUE(std::filesystem::exists(path_));
  auto server = serve(echo);
  EXPECT_TRUE(dial().request("x", kPatience).ok());
}

TEST_F(Transport, RefusesASecondDaemonAndSaysWhoIsThere) {
  auto first = serve(echo);
  auto second = Server::listen(path_, echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Unavailable);
  EXPECT_NE(second.error().message.find("process " + std::to_string(getpid())), std::string::npos)
      << second.error().message;
  EXPECT_TRUE(dial().request("still there", kPatience).ok());
}

TEST_F(Transport, LeavesAFileThatIsNoSocketAlone) {
  std::filesystem::create_directories(path_.parent_path());
  {
    const UniqueFd file(::open(path_.c_str(), O_CREAT | O_WRONLY, 0600));
  }
  auto server = Server::listen(path_, echo);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ErrorCode::InvalidArgument);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(Transport, GarbageOnTheSocketHurtsNobody) {
  auto server = serve(echo);
  Client client = dial();
  for (int i = 0; i < 4; ++i) {
    const UniqueFd fd = raw(false);
    std::string garbage(1000, static_cast<char>(i * 37));
    if (i % 2 == 0) garbage.replace(0, 8, std::string("\0SP\0\0\x30\0\0", 8));
    EXPECT_GT(::send(fd.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    char header[8];
    EXPECT_GT(::recv(fd.get(), header, sizeof(header), 0), 0);
  }
  auto reply = client.request("fine", kPatience);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(*reply, "echo fine");
  EXPECT_TRUE(dial().request("a newcomer", kPatience).ok());
}

/// Data that a peer sends before it disconnects: nothing, half a handshake, a handshake, half a
/// message.
std::string beginning(int round) {
  const std::string handshake("\0SP\0\0\x30\0\0", 8);
  const std::string half_message("\1\0\0\0\0\0\0\3\0\x80", 10);
  switch (round % 4) {
    case 0:
      return "";
    case 1:
      return handshake.substr(0, 5);
    case 2:
      return handshake;
    default:
      return handshake + half_message;
  }
}

size_t descriptors() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                           std::filesystem::directory_iterator()));
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

TEST_F(Transport, PeersThatHangUpCostNothing) {
  auto server = serve(echo);
  EXPECT_TRUE(dial().request("x", kPatience).ok());  // NNG's own threads and descriptors are there.
  const size_t before = descriptors();
  for (int round = 0; round < 400; ++round) {
    const UniqueFd peer = raw(false);
    const std::string bytes = beginning(round);
    EXPECT_EQ(::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    if (round % 40 != 0) continue;
    auto client = Client::connect(path_.native(), milliseconds(1000));
    ASSERT_TRUE(client) << client.error().message;
    EXPECT_TRUE(client->request("at once", milliseconds(1000)).ok()) << "round " << round;
  }
  EXPECT_TRUE(dial().request("afterwards", kPatience).ok());
  std::this_thread::sleep_for(milliseconds(100));  // NNG closes the last client's descriptors.
  EXPECT_LE(descriptors(), before + 4);
  const double used = cpu_seconds();
  std::this_thread::sleep_for(milliseconds(1000));
  EXPECT_LT(cpu_seconds() - used, 0.05) << "the server is busy with nobody";
}

TEST_F(Transport, PeersInTheMiddleOfSomethingMakeRoomForOthers) {
  auto listening = Server::listen(path_, echo, {.connections_max = 20});
  ASSERT_TRUE(listening) << listening.error().message;
  Client old = dial();
  EXPECT_TRUE(old.request("x", kPatience).ok());
  std::vector<UniqueFd> slow;
  for (int round = 0; round < 100; ++round) {
    slow.push_back(raw(false));
    const std::string bytes = beginning(round);
    static_cast<void>(::send(slow.back().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  EXPECT_TRUE(dial().request("a newcomer", kPatience).ok());
  EXPECT_TRUE(old.request("still there", kPatience).ok());
}

TEST_F(Transport, ARemovedSocketFileComesBack) {
  auto server = serve(echo);
  std::filesystem::remove(path_);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  // The file exists a moment before the server listens at it.
  while (!Client::connect(path_.native(), kPatience) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_TRUE(dial().request("x", kPatience).ok());
}

TEST_F(Transport, SaysWhenNoDaemonIsThere) {
  auto client = Client::connect(path_.native(), kPatience);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::Unavailable);
  EXPECT_NE(client.error().message.find("gpuemu daemon start"), std::string::npos);
}

TEST_F(Transport, SaysWhenAReplyDoesNotComeInTime) {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  auto server = serve([released](std::string_view, const ClientPeer&) {
    released.wait();
    return std::string("late");
  });
  Client client = dial();
  auto reply = client.request("x", milliseconds(30));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Timeout);
  release.set_value();
  reply = client.request("y", kPatience);
  EXPECT_TRUE(reply) << reply.error().message;
}

TEST_F(Transport, ARepeatedRequestIsNotRunTwice) {
  std::atomic<int> runs{0};
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  auto server = serve([&, released](std::string_view, const ClientPeer&) {
    ++runs;
    released.wait();
    return std::string("done");
  });
  Client client = dial();
  EXPECT_FALSE(client.request("long", milliseconds(50)));
  auto again = std::async(std::launch::async, [&] { return client.request("long", kPatience); });
  EXPECT_EQ(again.wait_for(milliseconds(50)), std::future_status::timeout);
  release.set_value();
  auto reply = again.get();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(*reply, "done");
  EXPECT_EQ(runs, 1);
}

TEST_F(Transport, StopLeavesTheSocketOfAnotherDaemonAlone) {
  auto server = serve(echo);
  std::filesystem::remove(path_);
  const UniqueFd taken = raw(true);
  int ends[2] = {};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd from(ends[0]), to(ends[1]);
  const pid_t other = ::fork();
  if (other == 0) {  // Only system calls: the child has none of the threads.
    char told = ::listen(taken.get(), 8) == 0 ? 1 : 0;
    static_cast<void>(::write(to.get(), &told, 1));
    for (;;) ::pause();
  }
  char told = 0;
  ASSERT_EQ(::read(from.get(), &told, 1), 1);
  EXPECT_EQ(told, 1);
  server->stop();
  EXPECT_TRUE(std::filesystem::exists(path_));
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

TEST_F(Transport, StopDeliversTheRepliesOfRunningRequests) {
  std::promise<void> started;
  auto server = serve([&](std::string_view, const ClientPeer&) {
    started.set_value();
    std::this_thread::sleep_for(milliseconds(50));
    return std::string(1 << 20, 'r');
  });
  auto asked = std::async(std::launch::async, [&] { return dial().request("x", kPatience); });
  started.get_future().wait();
  server->stop();
  EXPECT_FALSE(std::filesystem::exists(path_));
  auto reply = asked.get();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->size(), size_t{1} << 20);
}

// NNG 1.5 does not return from its close where a message arrives in the middle of it.
TEST_F(Transport, ReplyThatArrivesWhileTheClientClosesDoesNotKeepIt) {
  auto server = serve([](std::string_view request, const ClientPeer&) {
    std::this_thread::sleep_for(milliseconds(request == "given up" ? 6 : 3));
    return std::string("late");
  });
  for (int round = 0; round < 100; ++round) {
    Client client = dial();
    client.request("given up", milliseconds(3)).ok();  // On a busy host it may arrive in time.
    EXPECT_TRUE(client.request("beside it", kPatience).ok());
  }
}

TEST_F(Transport, RequestsThatArriveWhileTheServerStopsDoNotKeepIt) {
  for (int round = 0; round < 5; ++round) {
    auto server = serve(echo);
    std::atomic<bool> ends{false};
    std::vector<std::thread> clients;
    std::latch connected(4);
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&] {
        Client client = dial();
        connected.count_down();
        while (!ends && client.request(std::string(100'000, 'x'), milliseconds(200))) {
        }
      });
    }
    connected.wait();
    std::this_thread::sleep_for(milliseconds(20));
    server->stop();
    ends = true;
    for (std::thread& client : clients) client.join();
    std::filesystem::remove(path_);
  }
}

TEST_F(Transport, AThrowingHandlerIsAnErrorReply) {
  auto server = serve(
      [](std::string_view, const ClientPeer&) -> std::string { throw std::runtime_error("oops"); });
  auto reply = dial().request("x", kPatience);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_NE(reply->find(R"("code":"InternalError")"), std::string::npos) << *reply;
}

TEST_F(Transport, ALongPathIsAnErrorThatSaysSo) {
  path_ = folder_ / std::string(120, 'p');
  auto server = Server::listen(path_, echo);
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().message.find("at most 107"), std::string::npos);
  auto client = Client::connect(path_.native(), kPatience);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::InvalidArgument);
}

TEST_F(Transport, PrintsTheLatencyOfOneRoundTrip) {
  auto server =
      serve([](std::string_view, const ClientPeer&) { return std::string(R"({"type":"Pong"})"); });
  Client client = dial();
  std::vector<double> microseconds;
  for (int i = 0; i < 1000; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(client.request(R"({"type":"Ping"})", kPatience));
    microseconds.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::ranges::sort(microseconds);
  printf("round trip: median %.0f us, p99 %.0f us\n", microseconds[500], microseconds[990]);
}

}  // namespace
}  // namespace gpuemu
