#include "cli/archive/gzip.h"

#include <algorithm>
#include <limits>

#include <zlib.h>

namespace gpuemu::cli {
namespace {

constexpr int kGzipWindow = 15 + 16;  ///< The largest window; 16 asks zlib for gzip's frame.
constexpr size_t kUnpackedStep = size_t{1} << 18;

/// Drops const, because zlib takes a mutable pointer to input that it does not write.
Bytef* input_of(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

}  // namespace

Result<std::string> gzip(std::string_view text) {
  if (text.size() > std::numeric_limits<uInt>::max()) {
    return error(ErrorCode::ResourceExhausted, "{} bytes are too many to be packed", text.size());
  }
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return error(ErrorCode::Internal, "zlib cannot pack");
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = input_of(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int done = deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  if (done != Z_STREAM_END) return error(ErrorCode::Internal, "zlib cannot pack");
  return packed;
}

Result<std::string> gunzip(std::string_view packed, size_t bytes_max) {
  if (packed.size() > std::numeric_limits<uInt>::max()) {
    return error(ErrorCode::ResourceExhausted, "{} packed bytes are too many", packed.size());
  }
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
    return error(ErrorCode::Internal, "zlib cannot unpack");
  }
  stream.next_in = input_of(packed);
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  int done = Z_OK;
  while (done == Z_OK && text.size() <= bytes_max) {
    const size_t before = text.size();
    text.resize(before + std::min(kUnpackedStep, bytes_max + 1 - before));
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + before);
    stream.avail_out = static_cast<uInt>(text.size() - before);
    done = inflate(&stream, Z_NO_FLUSH);
    text.resize(text.size() - stream.avail_out);
  }
  const size_t behind = stream.avail_in;
  inflateEnd(&stream);
  if (text.size() > bytes_max) {
    return error(ErrorCode::ResourceExhausted, "it unpacks to more than {} MiB", bytes_max >> 20);
  }
  if (done == Z_BUF_ERROR) return error(ErrorCode::Corruption, "it ends early");
  if (done != Z_STREAM_END) return error(ErrorCode::Corruption, "it is damaged, or not an archive");
  if (behind > 0) {
    return error(ErrorCode::Corruption, "{} bytes follow where it should end", behind);
  }
  return text;
}

}  // namespace gpuemu::cli
