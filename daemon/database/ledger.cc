// Format of the ledger: text with one fact per line and the digest of all lines at the end.
#include "daemon/database/ledger.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>

#include "common/base/blake2.h"
#include "common/base/files.h"
#include "common/base/unique_fd.h"

namespace gpuemu::storage {
namespace {

constexpr std::string_view kFirstLine = "gpuemu-ledger 1\n", kDigestWord = "digest ";
// The first word of each line. Lines of counts start with the name of their family instead.
constexpr std::string_view kOpening = "opening", kShrinking = "shrinking", kSequence = "sequence",
                           kManifest = "manifest", kLog = "log";
constexpr size_t kLedgerBytesMax = size_t{1} << 20;

Error no_ledger(const std::string& why) {
  return error(ErrorCode::Corruption, "{}: {}", kLedgerName, why);
}

/// The words of one line.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  std::string_view next() {
    const std::string_view word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(std::min(rest_.size(), word.size() + 1));
    return word;
  }
  Result<uint64_t> number() {
    const std::string_view word = next();
    uint64_t value = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (failed == std::errc() && end == word.data() + word.size()) return value;
    return no_ledger(fmt::format("'{}' is not a number", word));
  }

 private:
  std::string_view rest_;
};

std::string text_of(const FilePrefix& file, std::string_view first) {
  return fmt::format("{} {} {} {}\n", first, file.name, file.bytes, file.digest);
}

Result<FilePrefix> prefix_of(Words& words) {
  FilePrefix file;
  file.name = words.next();
  file.bytes = GPUEMU_TRY(words.number());
  file.digest = GPUEMU_TRY(words.number());
  return file;
}

Status take_line(std::string_view line, Ledger& ledger) {
  Words words(line);
  const std::string_view first = words.next();
  if (first == kOpening) {
    ledger.opening = true;
  } else if (first == kShrinking) {
    ledger.shrinking = true;
  } else if (first == kSequence) {
    ledger.sequence = GPUEMU_TRY(words.number());
  } else if (first == kManifest) {
    ledger.manifest = GPUEMU_TRY(prefix_of(words));
  } else if (first == kLog) {
    ledger.logs.push_back(GPUEMU_TRY(prefix_of(words)));
  } else {
    const auto* const name = std::find(kFamilyNames, kFamilyNames + kCountedFamilies, first);
    if (name == kFamilyNames + kCountedFamilies) return no_ledger(fmt::format("'{}'", line));
    ledger.records[static_cast<size_t>(name - kFamilyNames)] = GPUEMU_TRY(words.number());
  }
  return ok_status();
}

Result<Ledger> parse(std::string_view text) {
  const size_t digest_at = text.rfind(kDigestWord);
  if (!text.starts_with(kFirstLine) || digest_at == std::string_view::npos) {
    return no_ledger("is not a ledger of this version");
  }
  const std::string_view lines = text.substr(0, digest_at);
  if (text.substr(digest_at + kDigestWord.size()) != content_hash({lines}) + "\n") {
    return no_ledger("its digest does not match");
  }
  Ledger ledger;
  for (std::string_view rest = lines.substr(kFirstLine.size()); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    GPUEMU_TRY(take_line(line, ledger));
  }
  return ledger;
}

std::string text_of(const Ledger& ledger) {
  std::string text(kFirstLine);
  if (ledger.opening) text += fmt::format("{}\n", kOpening);
  if (ledger.shrinking) text += fmt::format("{}\n", kShrinking);
  text += fmt::format("{} {}\n", kSequence, ledger.sequence);
  for (size_t i = 0; i < kCountedFamilies; ++i) {
    text += fmt::format("{} {}\n", kFamilyNames[i], ledger.records[i]);
  }
  text += text_of(ledger.manifest, kManifest);
  for (const FilePrefix& log : ledger.logs) text += text_of(log, kLog);
  return text + fmt::format("{}{}\n", kDigestWord, content_hash({text}));
}

}  // namespace

Result<std::optional<Ledger>> read_ledger(const std::filesystem::path& folder) {
  const auto text = read_file(folder / kLedgerName, kLedgerBytesMax);
  if (!text && text.error().code == ErrorCode::NotFound) return std::optional<Ledger>();
  if (!text) return text.error();
  return std::optional(GPUEMU_TRY(parse(*text)));
}

Status write_ledger(const std::filesystem::path& folder, const Ledger& ledger) {
  const std::string text = text_of(ledger);
  const std::filesystem::path path = folder / kLedgerName, fresh = folder / "LEDGER.new";
  const UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fdatasync(file.get()) == 0 && ::rename(fresh.c_str(), path.c_str()) == 0) {
    const UniqueFd parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (parent && ::fsync(parent.get()) == 0) return ok_status();
  }
  return error(ErrorCode::Io, "cannot write {}: {}", path.native(), std::strerror(errno));
}

Status extend(FilePrefix& prefix, const std::filesystem::path& folder, uint64_t bytes) {
  constexpr uint64_t kFactor = 0x100000001b3;  // FNV-1a
  constexpr size_t kPieceBytes = size_t{64} << 10;
  const UniqueFd file(::open((folder / prefix.name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return error(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, "{}: {}", prefix.name,
                 std::strerror(errno));
  }
  std::vector<uint8_t> piece(kPieceBytes);
  while (prefix.bytes < bytes) {
    const size_t wanted = std::min<uint64_t>(kPieceBytes, bytes - prefix.bytes);
    const ssize_t got = ::pread(file.get(), piece.data(), wanted, static_cast<off_t>(prefix.bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error(ErrorCode::Io, "{}: {}", prefix.name, std::strerror(errno));
    if (got == 0) {
      return error(ErrorCode::Corruption, "{}: has {} bytes, {} were written", prefix.name,
                   prefix.bytes, bytes);
    }
    for (ssize_t i = 0; i < got; ++i) {
      prefix.digest = (prefix.digest ^ piece[static_cast<size_t>(i)]) * kFactor;
    }
    prefix.bytes += static_cast<uint64_t>(got);
  }
  return ok_status();
}

}  // namespace gpuemu::storage
