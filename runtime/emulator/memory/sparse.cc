#include "runtime/emulator/memory/sparse.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include <sys/mman.h>
#include <unistd.h>

namespace gpuemu::emulator {
namespace {

/// The first page of a mapping holds its length, for unmap_sparse.
constexpr uint64_t kLengthPage = 4096;
/// Smallest size mapped at once: Linux allows 65,530 mappings per process.
constexpr uint64_t kPieceMin = uint64_t{8} << 20;
/// Largest memory that the repeated pattern itself may take.
constexpr uint64_t kPieceMax = uint64_t{64} << 20;

constexpr int kReadWrite = PROT_READ | PROT_WRITE;

/// A memory file that is closed with this object; its mappings remain.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("gpuemu-pattern", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (file_ >= 0) ::close(file_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  bool write(std::span<const std::byte> pattern, uint64_t bytes) const {
    if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(bytes)) != 0) return false;
    void* all = ::mmap(nullptr, bytes, kReadWrite, MAP_SHARED, file_, 0);
    if (all == MAP_FAILED) return false;
    auto* to = static_cast<std::byte*>(all);
    std::ranges::copy(pattern, to);
    for (uint64_t done = pattern.size(); done < bytes; done *= 2) {
      std::memcpy(to + done, to, std::min(done, bytes - done));
    }
    ::munmap(all, bytes);
    return true;
  }
  bool map(std::byte* at, uint64_t bytes) const {
    return ::mmap(at, bytes, kReadWrite, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_, 0) == at;
  }

 private:
  int file_;
};

}  // namespace

std::byte* map_sparse(uint64_t bytes) {
  const uint64_t total = bytes + kLengthPage;
  void* mapped =
      ::mmap(nullptr, total, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  std::memcpy(mapped, &total, sizeof total);
  return static_cast<std::byte*>(mapped) + kLengthPage;
}

void unmap_sparse(void* mapped) {
  if (mapped == nullptr) return;
  std::byte* begin = static_cast<std::byte*>(mapped) - kLengthPage;
  uint64_t total = 0;
  std::memcpy(&total, begin, sizeof total);
  ::munmap(begin, total);
}

Status repeat_sparse(std::byte* at, uint64_t bytes, std::span<const std::byte> pattern) {
  const uint64_t whole = std::lcm<uint64_t>(pattern.size(), kLengthPage);
  if (whole > kPieceMax) {
    return error(ErrorCode::Unsupported,
                 "a pattern of {} bytes fills whole pages only after {} bytes, the limit is {}",
                 pattern.size(), whole, kPieceMax);
  }
  const uint64_t piece = whole * std::max<uint64_t>(1, kPieceMin / whole);
  const MemoryFile file;
  bool good = file.write(pattern, piece);
  for (uint64_t done = 0; good && done < bytes; done += piece) {
    good = file.map(at + done,
                    std::min(piece, (bytes - done + kLengthPage - 1) / kLengthPage * kLengthPage));
  }
  if (good) return ok_status();
  return error(ErrorCode::ResourceExhausted, "cannot map {} bytes: {}", bytes,
               std::strerror(errno));
}

}  // namespace gpuemu::emulator
