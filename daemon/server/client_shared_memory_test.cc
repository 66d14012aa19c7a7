#include "daemon/server/client_shared_memory.h"

#include <atomic>
#include <numeric>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/unique_fd.h"

namespace gpuemu {
namespace {

constexpr const char* kName = "gpuemu-shared-0123456789abcdef";

std::vector<std::byte> counting(size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7);
  return made;
}

/// A memfd of this process with bytes in it, and the record that names them.
struct Memory {
  explicit Memory(size_t bytes, const char* name = kName)
      : content(counting(bytes)), fd(::memfd_create(name, MFD_CLOEXEC)) {
    EXPECT_EQ(::write(fd.get(), content.data(), bytes), static_cast<ssize_t>(bytes));
  }
  SharedTensorRef record() const {
    return {static_cast<uint64_t>(::getpid()), static_cast<uint64_t>(fd.get()), kName, 0,
            content.size()};
  }
  std::vector<std::byte> content;
  UniqueFd fd;
};

ErrorCode code_of(const SharedTensorRef& where) {
  const auto fetched = ClientSharedMemory().fetch(where);
  return fetched ? ErrorCode::Internal : fetched.error().code;
}

TEST(ClientSharedMemory, CopiesTheBytesThatARecordNames) {
  const Memory memory(100'000);
  SharedTensorRef where = memory.record();
  auto whole = ClientSharedMemory().fetch(where);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(*whole, memory.content);
  where.offset = 99'990;
  where.bytes = 10;
  auto end = ClientSharedMemory().fetch(where);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(*end, std::vector(memory.content.end() - 10, memory.content.end()));
}

TEST(ClientSharedMemory, RefusesBytesThatTheMemoryDoesNotHave) {
  const Memory memory(1000);
  for (const auto& [offset, bytes] : std::initializer_list<std::pair<uint64_t, uint64_t>>{
           {0, 1001}, {1000, 1}, {999, 2}, {UINT64_MAX, 1}, {1, UINT64_MAX}, {UINT64_MAX, 2}}) {
    SharedTensorRef where = memory.record();
    where.offset = offset;
    where.bytes = bytes;
    const auto fetched = ClientSharedMemory().fetch(where);
    ASSERT_FALSE(fetched) << offset << " " << bytes;
    EXPECT_EQ(fetched.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(fetched.error().message.find("has 1000 bytes"), std::string::npos)
        << fetched.error().message;
  }
}

TEST(ClientSharedMemory, AMemoryThatShrankOrEndedIsAnError) {
  Memory memory(1000);
  const SharedTensorRef where = memory.record();
  ASSERT_EQ(::ftruncate(memory.fd.get(), 10), 0);
  EXPECT_EQ(code_of(where), ErrorCode::InvalidArgument);
  memory.fd.reset();
  EXPECT_EQ(code_of(where), ErrorCode::NotFound);
}

TEST(ClientSharedMemory, SurvivesAMemoryThatShrinksAndGrowsWhileItIsRead) {
  constexpr off_t kBytes = 1 << 20;
  const Memory memory(kBytes);
  std::atomic<bool> done = false;
  std::thread owner([&] {
    for (off_t at = 0; !done; at = (at + 4099) % kBytes) {
      EXPECT_EQ(::ftruncate(memory.fd.get(), at), 0);
      EXPECT_EQ(::ftruncate(memory.fd.get(), kBytes), 0);
    }
  });
  size_t whole = 0;
  for (int i = 0; i < 200; ++i) {
    const auto fetched = ClientSharedMemory().fetch(memory.record());
    if (fetched) {
      ++whole;
      EXPECT_EQ(fetched->size(), static_cast<size_t>(kBytes));
    } else {
      EXPECT_EQ(fetched.error().code, ErrorCode::InvalidArgument) << fetched.error().message;
    }
  }
  done = true;
  owner.join();
  EXPECT_LE(whole, 200U);
}

TEST(ClientSharedMemory, TakesNothingButAMemoryOfThatName) {
  const Memory memory(1000);
  SharedTensorRef other = memory.record();
  other.name = "gpuemu-shared-fedcba9876543210";
  EXPECT_EQ(code_of(other), ErrorCode::NotFound);

  char path[] = "/tmp/gpuemu-shared-XXXXXX";
  const UniqueFd file(::mkstemp(path));
  ASSERT_TRUE(file);
  SharedTensorRef wrong = memory.record();
  wrong.descriptor = static_cast<uint64_t>(file.get());
  EXPECT_EQ(code_of(wrong), ErrorCode::NotFound);
  ::unlink(path);

  // Opening this one would wait for a writer for ever.
  const std::string fifo = std::string(path) + ".fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const UniqueFd pipe(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK));
  wrong.descriptor = static_cast<uint64_t>(pipe.get());
  EXPECT_EQ(code_of(wrong), ErrorCode::NotFound);
  ::unlink(fifo.c_str());
}

TEST(ClientSharedMemory, RefusesNamesThatAreNotThoseOfClients) {
  const Memory arena(1000, "gpuemu-arena");
  for (const std::string name : {"", "gpuemu-arena", "gpuemu-shared-/../x", "gpuemu-shared-A",
                                 "gpuemu-shared-a (deleted)", "x"}) {
    SharedTensorRef where = arena.record();
    where.name = name;
    EXPECT_EQ(code_of(where), ErrorCode::InvalidArgument) << name;
  }
  SharedTensorRef where = arena.record();
  where.name = std::string("gpuemu-shared-") + std::string(1000, 'a');
  EXPECT_EQ(code_of(where), ErrorCode::InvalidArgument);
}

TEST(ClientSharedMemory, AProcessThatIsGoneIsToldApart) {
  const Memory memory(1000);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  for (const uint64_t process : {static_cast<uint64_t>(child), uint64_t{0}, UINT64_MAX}) {
    SharedTensorRef where = memory.record();
    where.process = process;
    EXPECT_EQ(code_of(where), ErrorCode::NotFound) << process;
  }
  SharedTensorRef where = memory.record();
  where.descriptor = UINT64_MAX;
  EXPECT_EQ(code_of(where), ErrorCode::NotFound);
}

TEST(ClientSharedMemory, BoundsWhatAllTensorsOfARequestHold) {
  const UniqueFd holes(::memfd_create(kName, MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(holes.get(), static_cast<off_t>(kMessageBytesMax) + 1), 0);
  SharedTensorRef where{static_cast<uint64_t>(::getpid()), static_cast<uint64_t>(holes.get()),
                        kName, 0, kMessageBytesMax + 1};
  EXPECT_EQ(code_of(where), ErrorCode::InvalidArgument);
  ClientSharedMemory memory;
  where.bytes = 1 << 20;
  ASSERT_TRUE(memory.fetch(where));
  where.bytes = kMessageBytesMax;  // Alone it would be allowed.
  const auto second = memory.fetch(where);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("1073741824 bytes, the limit"), std::string::npos)
      << second.error().message;
}

}  // namespace
}  // namespace gpuemu
