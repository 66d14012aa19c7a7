// Formats: https://github.com/facebook/rocksdb/wiki/Write-Ahead-Log-File-Format for the records of
// a log, and the comment at the start of write_batch.cc there for the batch in each of them.
#include "daemon/database/foreign_log.h"

#include <array>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string_view>

namespace gpuemu::storage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlockBytes = size_t{32} << 10;
constexpr size_t kHeaderBytes = 7;  // Checksum, length, kind.
enum Part : uint8_t { Unused = 0, Full = 1, First = 2, Middle = 3, Last = 4 };

uint32_t number_at(std::string_view bytes, size_t at, size_t count) {
  uint32_t number = 0;
  for (size_t i = 0; i < count; ++i) {
    number |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
  }
  return number;
}

/// CRC-32C, which a log stores rotated and increased by a constant.
uint32_t stored_checksum(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < made.size(); ++i) {
      made[i] = i;
      for (int bit = 0; bit < 8; ++bit) {
        made[i] = (made[i] >> 1) ^ ((made[i] & 1) != 0 ? 0x82F63B78U : 0);
      }
    }
    return made;
  }();
  uint32_t sum = ~0U;
  for (const char byte : bytes) sum = table[(sum ^ static_cast<uint8_t>(byte)) & 0xFF] ^ (sum >> 8);
  sum = ~sum;
  return ((sum >> 15) | (sum << 17)) + 0xA282EAD8U;
}

/// Reads the records of a batch.
class Batch {
 public:
  explicit Batch(std::string_view bytes) : rest_(bytes) {}

  /// Returns whether the batch has only changes that our stores make: it puts, deletes, and deletes
  /// ranges.
  bool is_ours() {
    constexpr size_t kStartBytes = 12;  // Number of the first change, and how many there are.
    if (rest_.size() < kStartBytes) return false;
    rest_.remove_prefix(kStartBytes);
    while (!rest_.empty()) {
      if (!skip_change()) return false;
    }
    return true;
  }

 private:
  enum Tag : uint8_t {
    Delete = 0x0,
    Put = 0x1,
    DeleteInFamily = 0x4,
    PutInFamily = 0x5,
    DeleteRangeInFamily = 0xE,
    DeleteRange = 0xF,
  };

  bool skip_change() {
    const auto tag = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    switch (tag) {
      case Delete:
        return skip_text();
      case Put:
      case DeleteRange:
        return skip_text() && skip_text();
      case DeleteInFamily:
        return number() && skip_text();
      case PutInFamily:
      case DeleteRangeInFamily:
        return number() && skip_text() && skip_text();
      default:
        return false;
    }
  }

  std::optional<uint32_t> number() {
    uint32_t value = 0;
    for (uint32_t shift = 0; shift < 32 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint32_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  bool skip_text() {
    const auto length = number();
    if (!length || *length > rest_.size()) return false;
    rest_.remove_prefix(*length);
    return true;
  }

  std::string_view rest_;
};

enum class Checksums { Ignored, Compared };

/// Reads a log block by block.
class LogFile {
 public:
  explicit LogFile(Checksums checksums) : checksums_(checksums) {}

  /// Returns whether a record ends in the block that is no batch of ours. If checksums are
  /// compared, a damaged record is no such record.
  bool has_foreign_record(std::string_view block) {
    while (block.size() >= kHeaderBytes) {
      const size_t length = number_at(block, 4, 2);
      const auto part = static_cast<uint8_t>(block[6]);
      if (part == Unused || length > block.size() - kHeaderBytes) break;
      if (ends_foreign(block.substr(0, kHeaderBytes + length), part)) return true;
      block.remove_prefix(kHeaderBytes + length);
    }
    return false;
  }

 private:
  bool ends_foreign(std::string_view stored, uint8_t part) {
    const std::string_view content = stored.substr(kHeaderBytes);
    if (part == Full || part == First) {
      record_.clear();
      is_intact_ = true;
    }
    record_ += content;
    if (checksums_ == Checksums::Compared) {
      is_intact_ = is_intact_ && stored_checksum(stored.substr(6)) == number_at(stored, 0, 4);
    }
    const bool ends = part == Full || part == Last;
    return ends && is_intact_ && !Batch(record_).is_ours();
  }

  const Checksums checksums_;
  std::string record_;
  bool is_intact_ = false;  ///< All parts of the record so far.
};

bool has_foreign_record(const fs::path& file, Checksums checksums) {
  std::ifstream in(file, std::ios::binary);
  LogFile log(checksums);
  std::string block(kBlockBytes, '\0');
  while (in) {
    in.read(block.data(), static_cast<std::streamsize>(kBlockBytes));
    const std::string_view got(block.data(), static_cast<size_t>(in.gcount()));
    if (log.has_foreign_record(got)) return true;
  }
  return false;
}

}  // namespace

bool is_foreign_log(const fs::path& file) {
  // Checksums take longer than all the rest, and matter only when there is such a record.
  return has_foreign_record(file, Checksums::Ignored) &&
         has_foreign_record(file, Checksums::Compared);
}

std::string foreign_log(const fs::path& folder) {
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const fs::path& file = at->path();
    if (file.extension() == ".log" && is_foreign_log(file)) return file.filename().string();
  }
  return "";
}

}  // namespace gpuemu::storage
