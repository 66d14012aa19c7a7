#include "daemon/process/child_process.h"

#include <fstream>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

namespace gpuemu {
namespace {

ChildProcess shell(const std::string& text) {
  auto child = ChildProcess::spawn({{"sh", "-c", text}, "", {}});
  EXPECT_TRUE(child) << child.error().message;
  return *std::move(child);
}

std::string receive_text(ChildProcess& child, uint64_t milliseconds) {
  std::vector<std::byte> bytes;
  while (child.receive(bytes, 100, deadline_after(milliseconds))) continue;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool ends_soon(pid_t pid) {
  for (int i = 0; i < 200; ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    if (!std::getline(stat, line) || line.find(") Z") != std::string::npos) return true;
    ::poll(nullptr, 0, 5);
  }
  return false;
}

TEST(ChildProcess, TalksOverItsSocket) {
  ChildProcess child = shell("read line <&3; echo \"got $line\" >&3");
  const std::string text = "hello\n";
  ASSERT_TRUE(child.send(std::as_bytes(std::span(text)), deadline_after(2'000)));
  EXPECT_EQ(receive_text(child, 2'000), "got hello\n");
}

TEST(ChildProcess, InheritsOnlyWhatIsNamed) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);  // Intentionally without close-on-exec.
  auto child =
      ChildProcess::spawn({{"sh", "-c", "ls /proc/self/fd | tr '\\n' ' ' >&3"}, "", {ends[0]}});
  ASSERT_TRUE(child);
  const std::string seen = receive_text(*child, 2'000);
  ::close(ends[0]);
  ::close(ends[1]);
  // 5 is the lifeline, 6 the folder that ls itself reads.
  EXPECT_TRUE(seen == "0 1 2 3 4 5 6 " || seen == "0 1 10 2 3 4 5 6 ") << seen;
}

TEST(ChildProcess, SaysThatAProgramDoesNotExist) {
  auto child = ChildProcess::spawn({{"/no/such/program"}, "", {}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ErrorCode::Unavailable);
  EXPECT_NE(child.error().message.find("/no/such/program"), std::string::npos);
}

TEST(ChildProcess, SaysSoHoweverManyDescriptorsItInherits) {
  ChildOptions options{.command = {"/nonexistent/program"}};
  options.inherit.assign(200, STDIN_FILENO);
  const auto child = ChildProcess::spawn(options);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ErrorCode::Unavailable);
}

TEST(ChildProcess, ReceivingHasADeadline) {
  ChildProcess child = shell("exec sleep 60");
  std::vector<std::byte> bytes;
  const Status got = child.receive(bytes, 1, deadline_after(20));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::Timeout);
}

TEST(ChildProcess, ReceivingLooksForAWhileBeforeItSleeps) {
  constexpr std::chrono::microseconds kBusy{500};
  ChildProcess child = shell("read line <&3; sleep 0.05; echo $line >&3; exec sleep 60");
  ASSERT_TRUE(child.send(std::as_bytes(std::span("late\n", 5)), deadline_after(2'000)));
  std::vector<std::byte> bytes;
  ASSERT_TRUE(child.receive(bytes, 100, deadline_after(20'000), kBusy));
  EXPECT_EQ(bytes.size(), 5u);
  const Status late = child.receive(bytes, 1, deadline_after(20), kBusy);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::Timeout);
}

TEST(ChildProcess, TellsHowTheChildEnded) {
  ChildProcess child = shell("echo why >&2; exit 3");
  std::vector<std::byte> bytes;
  EXPECT_EQ(child.receive(bytes, 1, deadline_after(2'000)).error().code, ErrorCode::Unavailable);
  child.stop(deadline_after(2'000));
  EXPECT_EQ(child.ending(), "exit code 3");
  EXPECT_EQ(child.error_tail(), "why\n");
}

TEST(ChildProcess, WaitsForAnEndByItself) {
  EXPECT_EQ(shell("head -c 300000 /dev/zero; exit 3").wait(deadline_after(10'000)), 3);
  EXPECT_EQ(shell("kill -9 $$").wait(deadline_after(10'000)), std::nullopt);
  EXPECT_EQ(shell("exec sleep 60").wait(deadline_after(20)), std::nullopt);
}

TEST(ChildProcess, KillTakesADescendantThatLeftTheGroup) {
  ChildProcess child = shell("setsid sleep 60 & echo $! >&3; wait");
  std::vector<std::byte> bytes;
  ASSERT_TRUE(child.receive(bytes, 100, deadline_after(2'000)));
  const pid_t stray = std::atoi(reinterpret_cast<const char*>(bytes.data()));
  ASSERT_EQ(::kill(stray, 0), 0);
  child.kill();
  EXPECT_TRUE(ends_soon(stray));
}

TEST(ChildProcess, DiesWhenTheParentIsKilled) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto child =
        ChildProcess::spawn({{"sh", "-c", "trap '' TERM HUP; while :; do :; done"}, "", {}});
    const pid_t pid = child ? child->pid() : -1;
    const ssize_t written = ::write(ends[1], &pid, sizeof pid);
    ::pause();
    ::_exit(static_cast<int>(written));
  }
  pid_t child = -1;
  ASSERT_EQ(::read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ASSERT_GT(child, 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(ends_soon(child));
}

TEST(ChildProcess, AChattyChildDoesNotBlockTheConversation) {
  ChildProcess child = shell("head -c 300000 /dev/zero | tr '\\0' x >&2; echo done >&3");
  EXPECT_EQ(receive_text(child, 5'000), "done\n");
  EXPECT_EQ(child.error_tail().size(), size_t{64} << 10);
}

}  // namespace
}  // namespace gpuemu
