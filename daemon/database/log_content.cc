// Formats: https://github.com/facebook/rocksdb/wiki/Write-Ahead-Log-File-Format for the records of
// a log, and the comment at the start of write_batch.cc there for the batch in each of them.
#include "daemon/database/log_content.h"

#include <array>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

namespace gpuemu::storage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlockBytes = size_t{32} << 10;
constexpr size_t kHeaderBytes = 7;  // Checksum, length, kind.
constexpr size_t kKindAt = 6;
enum Kind : uint8_t { Unused = 0, Full = 1, First = 2, Middle = 3, Last = 4 };
// Logs that are used again have these, ours do not: RocksDB 7.8 never gets past one of another log.
constexpr uint8_t kRecycledFirst = 5, kRecycledLast = 8;

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

/// What is in a log that RocksDB must not read.
struct Seen {
  bool is_foreign = false;        ///< A record that is no batch of ours.
  std::vector<uint64_t> endless;  ///< Offsets of kinds of records of which RocksDB never gets past.
};

/// Reads a log block by block, as RocksDB does.
class LogFile {
 public:
  explicit LogFile(Checksums checksums) : checksums_(checksums) {}

  /// Reads the records that begin in the block, up to the first one that is damaged.
  void read(std::string_view block, uint64_t offset) {
    while (block.size() >= kHeaderBytes) {
      const size_t length = number_at(block, 4, 2);
      const auto kind = static_cast<uint8_t>(block[kKindAt]);
      if (kind >= kRecycledFirst && kind <= kRecycledLast) {
        seen_.endless.push_back(offset + kKindAt);
        return;
      }
      if (kind == Unused || length > block.size() - kHeaderBytes) return;
      const std::string_view stored = block.substr(0, kHeaderBytes + length);
      const bool is_damaged = checksums_ == Checksums::Compared &&
                              stored_checksum(stored.substr(kKindAt)) != number_at(stored, 0, 4);
      if (is_damaged) {
        is_intact_ = false;
        return;
      }
      add(stored.substr(kHeaderBytes), kind);
      block.remove_prefix(stored.size());
      offset += stored.size();
    }
  }

  const Seen& seen() const { return seen_; }

 private:
  void add(std::string_view content, uint8_t kind) {
    if (kind == Full || kind == First) {
      record_.clear();
      is_intact_ = true;
    }
    record_ += content;
    const bool ends = kind == Full || kind == Last;
    seen_.is_foreign |= ends && is_intact_ && !Batch(record_).is_ours();
  }

  const Checksums checksums_;
  std::string record_;
  bool is_intact_ = false;  ///< All parts of the record so far.
  Seen seen_;
};

Seen read_log(const fs::path& file, Checksums checksums) {
  std::ifstream in(file, std::ios::binary);
  LogFile log(checksums);
  std::string block(kBlockBytes, '\0');
  for (uint64_t offset = 0; in; offset += kBlockBytes) {
    in.read(block.data(), static_cast<std::streamsize>(kBlockBytes));
    log.read(std::string_view(block.data(), static_cast<size_t>(in.gcount())), offset);
  }
  return log.seen();
}

/// Checksums take longer than all the rest, and matter only where something else is wrong.
Seen look_at(const fs::path& file) {
  Seen seen = read_log(file, Checksums::Ignored);
  if (!seen.is_foreign && seen.endless.empty()) return seen;
  return read_log(file, Checksums::Compared);
}

}  // namespace

LogContent content_of_log(const fs::path& file) {
  const Seen seen = look_at(file);
  if (seen.is_foreign) return LogContent::Foreign;
  return seen.endless.empty() ? LogContent::Readable : LogContent::Endless;
}

Status copy_readable(const fs::path& file, const fs::path& to) {
  std::error_code failed;
  fs::copy_file(file, to, failed);
  std::fstream out(to, std::ios::binary | std::ios::in | std::ios::out);
  for (const uint64_t at : look_at(file).endless) {
    out.seekp(static_cast<std::streamoff>(at));
    out.put(static_cast<char>(Full));
  }
  if (!failed && out.flush()) return ok_status();
  return error(ErrorCode::Io, "cannot write {}", to.native());
}

std::string unreadable_log(const fs::path& folder) {
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const fs::path& file = at->path();
    if (file.extension() == ".log" && content_of_log(file) != LogContent::Readable) {
      return file.filename().string();
    }
  }
  return "";
}

}  // namespace gpuemu::storage
