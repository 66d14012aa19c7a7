// Implements Arena with memfd_create, ftruncate and mmap.
#include "common/base/arena.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace gpuemu {
namespace {

Error refused(const char* call, uint64_t bytes) {
  const ErrorCode code =
      errno == ENOMEM || errno == ENOSPC ? ErrorCode::ResourceExhausted : ErrorCode::Io;
  return error(code, "shared memory: {} of {} bytes: {}", call, bytes, std::strerror(errno));
}

}  // namespace

Result<Arena> Arena::create() {
  Arena arena;
  arena.fd_.reset(::memfd_create("gpuemu-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!arena.fd_) return refused("memfd_create", 0);
  // A script that shortened it would end the processes that read it.
  if (::fcntl(arena.fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) return refused("F_ADD_SEALS", 0);
  return arena;
}

Result<Arena> Arena::open(UniqueFd fd) {
  Arena arena;
  arena.fd_ = std::move(fd);
  GPUEMU_TRY(arena.refresh());
  return arena;
}

Arena::Arena(Arena&& other) noexcept
    : fd_(std::move(other.fd_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Arena::~Arena() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Status Arena::map(uint64_t bytes) {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
  if (bytes == 0) return ok_status();
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (at == MAP_FAILED) return refused("mmap", bytes);
  data_ = static_cast<std::byte*>(at);
  bytes_ = bytes;
  return ok_status();
}

Status Arena::grow(uint64_t bytes) {
  if (bytes <= bytes_) return ok_status();
  // Another process may have enlarged it, which must not be undone.
  GPUEMU_TRY(refresh());
  if (bytes <= bytes_) return ok_status();
  const uint64_t rounded = (bytes + 0xfffff) & ~uint64_t{0xfffff};
  if (::ftruncate(fd_.get(), static_cast<off_t>(rounded)) != 0) {
    return refused("ftruncate", rounded);
  }
  return map(rounded);
}

Status Arena::refresh() {
  struct stat info{};
  if (::fstat(fd_.get(), &info) != 0) return refused("fstat", 0);
  const auto now = static_cast<uint64_t>(info.st_size);
  return now == bytes_ ? ok_status() : map(now);
}

Result<std::span<std::byte>> Arena::range(uint64_t offset, uint64_t bytes) {
  if (offset > bytes_ || bytes > bytes_ - offset) {
    return error(ErrorCode::InvalidArgument, "range {}+{} outside the shared memory of {} bytes",
                 offset, bytes, bytes_);
  }
  return std::span<std::byte>(data_ + offset, bytes);
}

}  // namespace gpuemu
