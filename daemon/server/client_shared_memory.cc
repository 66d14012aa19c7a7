// Uses open(O_PATH), readlink, open, fstat and pread.
#include "daemon/server/client_shared_memory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/unique_fd.h"

namespace gpuemu {
namespace {

/// Different from the name of the daemon's own case memory.
constexpr std::string_view kNamePrefix = "gpuemu-shared-";
constexpr size_t kNameBytesMax = 64;  ///< Far below the 249 of memfd_create.

Status check_name(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (name.starts_with(kNamePrefix) && name.size() <= kNameBytesMax &&
      std::ranges::all_of(name, plain)) {
    return ok_status();
  }
  return error(
      ErrorCode::InvalidArgument,
      "the memory's name is '{}', expected '{}' and lower-case letters, digits and '-', {} "
      "characters at most",
      name.substr(0, kNameBytesMax), kNamePrefix, kNameBytesMax);
}

Error unreachable(const SharedTensorRef& where, const std::string& why) {
  return error(ErrorCode::NotFound,
               "memory '{}', descriptor {} of process {}, cannot be reached ({}): send the tensor "
               "as data",
               where.name, where.descriptor, where.process, why);
}

/// Returns what a descriptor of this process refers to, as the kernel reports it.
std::string target_of(int descriptor) {
  std::array<char, PATH_MAX> text;
  const std::string link = fmt::format("/proc/self/fd/{}", descriptor);
  const ssize_t length = ::readlink(link.c_str(), text.data(), text.size());
  return length < 0 ? "" : std::string(text.data(), static_cast<size_t>(length));
}

/// Opens the memfd for reading. A descriptor may also be a terminal or a pipe without a writer,
/// where opening has side effects, so it is first opened with O_PATH and checked.
Result<UniqueFd> open_memory(const SharedTensorRef& where) {
  const std::string theirs = fmt::format("/proc/{}/fd/{}", where.process, where.descriptor);
  const UniqueFd held(::open(theirs.c_str(), O_PATH | O_CLOEXEC));
  if (!held) return unreachable(where, std::strerror(errno));
  if (target_of(held.get()) != fmt::format("/memfd:{} (deleted)", where.name)) {
    return unreachable(where, "it is not a memory of that name");
  }
  struct stat info{};
  if (::fstat(held.get(), &info) != 0) return unreachable(where, std::strerror(errno));
  if (info.st_uid != ::geteuid()) return unreachable(where, "it belongs to another user");
  const std::string ours = fmt::format("/proc/self/fd/{}", held.get());
  UniqueFd memory(::open(ours.c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory) return unreachable(where, std::strerror(errno));
  // Files of other kinds have no seals, whatever their names are.
  if (::fcntl(memory.get(), F_GET_SEALS) < 0) return unreachable(where, "it is not a memory");
  return memory;
}

/// Returns how many bytes could be read.
Result<uint64_t> read_all(int memory, uint64_t offset, std::vector<std::byte>& to) {
  uint64_t done = 0;
  while (done < to.size()) {
    const ssize_t count =
        ::pread(memory, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return error(ErrorCode::Io, "reading memory: {}", std::strerror(errno));
    if (count == 0) break;
    done += static_cast<uint64_t>(count);
  }
  return done;
}

}  // namespace

Result<std::vector<std::byte>> ClientSharedMemory::fetch(const SharedTensorRef& where) {
  GPUEMU_TRY(check_name(where.name));
  const UniqueFd memory = GPUEMU_TRY(open_memory(where));
  struct stat info{};
  if (::fstat(memory.get(), &info) != 0) return unreachable(where, std::strerror(errno));
  const auto size = static_cast<uint64_t>(info.st_size);
  if (where.offset > size || where.bytes > size - where.offset) {
    return error(ErrorCode::InvalidArgument, "memory '{}' has {} bytes, not {} from offset {} on",
                 where.name, size, where.bytes, where.offset);
  }
  if (where.bytes > bytes_left_) {
    return error(ErrorCode::InvalidArgument,
                 "the tensors of the request hold more than {} bytes, the limit", kMessageBytesMax);
  }
  bytes_left_ -= where.bytes;
  std::vector<std::byte> data(where.bytes);
  const uint64_t done = GPUEMU_TRY(read_all(memory.get(), where.offset, data));
  if (done == data.size()) return data;
  return error(ErrorCode::InvalidArgument,
               "memory '{}' shrank while it was read: {} of {} bytes were left", where.name, done,
               data.size());
}

}  // namespace gpuemu
