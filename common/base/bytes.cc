// Reads and writes strings and blobs of binary records.
#include "common/base/bytes.h"

namespace gpuemu {

void ByteWriter::write_string(std::string_view text) {
  write(static_cast<uint32_t>(text.size()));
  const auto* from = reinterpret_cast<const std::byte*>(text.data());
  bytes_.insert(bytes_.end(), from, from + text.size());
}

void ByteWriter::write_blob(std::span<const std::byte> blob) {
  write(static_cast<uint64_t>(blob.size()));
  bytes_.insert(bytes_.end(), blob.begin(), blob.end());
}

Error ByteReader::truncated(size_t wanted) const {
  return error(ErrorCode::Corruption, "record ends early: expected {} more bytes, {} are left",
               wanted, rest_.size());
}

Result<std::string> ByteReader::read_string() {
  const auto length = GPUEMU_TRY(read<uint32_t>());
  if (rest_.size() < length) return truncated(length);
  std::string text(reinterpret_cast<const char*>(rest_.data()), length);
  rest_ = rest_.subspan(length);
  return text;
}

Result<std::span<const std::byte>> ByteReader::read_blob() {
  const auto length = GPUEMU_TRY(read<uint64_t>());
  if (rest_.size() < length) return truncated(length);
  const auto blob = rest_.first(length);
  rest_ = rest_.subspan(length);
  return blob;
}

}  // namespace gpuemu
