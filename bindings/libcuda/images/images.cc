#include "bindings/libcuda/images/images.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "bindings/libcuda/images/unpack.h"
#include "runtime/ptx/limits.h"

namespace gpuemu::libcuda {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243B1, kContainerMagic = 0xBA55ED50;
constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";
constexpr size_t kTextMax = size_t{64} << 20;
constexpr uint16_t kKindPtx = 1;
constexpr uint64_t kFlagLz4 = 0x2000, kFlagZstd = 0x8000;

/// The wrapper declared by fatbinary_section.h, which programs pass.
struct Wrapper {
  uint32_t magic, version;
  const unsigned char* container;
  const void* file_name;
};
struct ContainerHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t body_bytes;
};
static_assert(sizeof(ContainerHeader) == 16);
/// The header of an entry, up to the last member that is read.
struct EntryHeader {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t body_bytes;
  uint32_t packed_bytes, reserved;
  uint16_t minor, major;
  uint32_t sm;
  uint32_t name_offset, name_bytes;
  uint64_t flags, reserved_2, unpacked_bytes;
};
static_assert(sizeof(EntryHeader) == 64);

Image refused(int code, std::string problem) { return {code, {}, std::move(problem)}; }

Image no_ptx() {
  return refused(CUDA_ERROR_NO_BINARY_FOR_GPU,
                 "cannot load an image: it has machine code but no PTX for this device, and gpuemu "
                 "only runs PTX; build with -gencode arch=compute_80,code=compute_80");
}

template <typename Header>
std::optional<Header> header_at(std::span<const unsigned char> bytes, size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(Header)) return std::nullopt;
  Header made;
  std::memcpy(&made, bytes.data() + at, sizeof made);
  return made;
}

std::optional<std::string> text_of(const EntryHeader& entry, std::span<const unsigned char> body) {
  const bool is_packed = (entry.flags & (kFlagLz4 | kFlagZstd)) != 0;
  std::optional<std::string> text;
  if (!is_packed) {
    text = std::string(body.begin(), body.end());
  } else if (entry.unpacked_bytes <= kTextMax && entry.packed_bytes <= body.size()) {
    const auto packed = body.first(entry.packed_bytes);
    text = (entry.flags & kFlagZstd) != 0 ? unpack_zstd(packed, entry.unpacked_bytes)
                                          : unpack_lz4(packed, entry.unpacked_bytes);
  }
  if (!text || text->size() > kTextMax) return std::nullopt;
  text->resize(std::min(text->find('\0'), text->size()));
  return text;
}

/// Reads a container; `bytes` bounds what may be read.
Image read_container(std::span<const unsigned char> bytes, int sm) {
  const auto header = header_at<ContainerHeader>(bytes, 0);
  const Image damaged =
      refused(CUDA_ERROR_INVALID_IMAGE, "cannot load a fat binary: it is damaged");
  if (!header || header->magic != kContainerMagic ||
      header->header_bytes < sizeof(ContainerHeader) || header->header_bytes > bytes.size() ||
      header->body_bytes > bytes.size() - header->header_bytes) {
    return damaged;
  }
  const auto body = bytes.subspan(header->header_bytes, header->body_bytes);
  std::optional<std::string> best;
  uint32_t best_sm = 0;
  for (size_t at = 0; at < body.size();) {
    const auto entry = header_at<EntryHeader>(body, at);
    if (!entry || entry->header_bytes < sizeof(EntryHeader) ||
        entry->header_bytes > body.size() - at ||
        entry->body_bytes > body.size() - at - entry->header_bytes) {
      return damaged;
    }
    const auto inside = body.subspan(at + entry->header_bytes, entry->body_bytes);
    at += entry->header_bytes + entry->body_bytes;
    const bool fits = entry->kind == kKindPtx && entry->sm <= static_cast<uint32_t>(sm);
    if (!fits || (best && entry->sm <= best_sm)) continue;
    if ((entry->flags & kFlagZstd) != 0 && !has_zstd()) {
      return refused(CUDA_ERROR_INVALID_IMAGE,
                     "cannot unpack a fat binary that is compressed with Zstandard: libzstd.so.1 "
                     "is not installed; install it, or build with --no-compress");
    }
    best = text_of(*entry, inside);
    if (!best) return damaged;
    best_sm = entry->sm;
  }
  if (!best) return no_ptx();
  return {CUDA_SUCCESS, *std::move(best), {}};
}

/// Returns the bytes of the container that starts at `image`, using the size in its header.
std::span<const unsigned char> container_at(const unsigned char* image) {
  ContainerHeader header{};
  std::memcpy(&header, image, sizeof header);
  constexpr uint64_t kContainerMax = uint64_t{4} << 30;
  return {image, header.header_bytes + std::min(header.body_bytes, kContainerMax)};
}

/// Returns the word after `directive`; "" when the text does not have it.
std::string_view word_after(std::string_view ptx, std::string_view directive) {
  for (size_t at = ptx.find(directive); at != ptx.npos; at = ptx.find(directive, at + 1)) {
    const size_t line = ptx.rfind('\n', at) + 1;  // npos + 1 is 0.
    if (ptx.substr(line, at - line).find("//") != ptx.npos) continue;
    const size_t begin = ptx.find_first_not_of(" \t", at + directive.size());
    if (begin == ptx.npos) return {};
    return ptx.substr(begin, ptx.find_first_of(", \t\r\n", begin) - begin);
  }
  return {};
}

}  // namespace

Image read_image(const void* image, int sm) {
  if (image == nullptr) {
    return refused(CUDA_ERROR_INVALID_VALUE, "cannot load an image: its address is null");
  }
  uint32_t magic = 0;
  const auto* bytes = static_cast<const unsigned char*>(image);
  const size_t length = strnlen(static_cast<const char*>(image), sizeof magic);
  if (length < sizeof magic && bytes[0] < 0x80 && bytes[0] != 0x50) {
    return refused(CUDA_ERROR_INVALID_IMAGE,
                   "cannot load an image: it is too short to be PTX or a fat binary");
  }
  std::memcpy(&magic, image, sizeof magic);
  if (magic == kWrapperMagic) {
    Wrapper wrapper{};
    std::memcpy(&wrapper, image, sizeof wrapper);
    if (wrapper.container == nullptr) {
      return refused(CUDA_ERROR_INVALID_IMAGE, "cannot load a fat binary: it is empty");
    }
    return read_container(container_at(wrapper.container), sm);
  }
  if (magic == kContainerMagic) return read_container(container_at(bytes), sm);
  if (std::memcmp(image, kElfMagic.data(), kElfMagic.size()) == 0) return no_ptx();
  const auto* text = static_cast<const char*>(image);
  return {CUDA_SUCCESS, std::string(text, strnlen(text, kTextMax)), {}};
}

Image read_image_bytes(std::string content, int sm) {
  uint32_t magic = 0;
  if (content.size() >= sizeof magic) std::memcpy(&magic, content.data(), sizeof magic);
  if (magic == kContainerMagic) {
    return read_container({reinterpret_cast<const unsigned char*>(content.data()), content.size()},
                          sm);
  }
  if (content.starts_with(kElfMagic)) return no_ptx();
  content.resize(std::min({content.find('\0'), content.size(), kTextMax}));
  return {CUDA_SUCCESS, std::move(content), {}};
}

Image read_image_file(const char* path, int sm) {
  if (path == nullptr) {
    return refused(CUDA_ERROR_INVALID_VALUE, "cannot load an image: the file name is null");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return refused(CUDA_ERROR_FILE_NOT_FOUND, fmt::format("cannot open the image {}", path));
  }
  std::string content{std::istreambuf_iterator<char>(file), {}};
  return read_image_bytes(std::move(content), sm);
}

int check_target(const std::string& ptx, int sm, std::string& problem) {
  const std::string_view version = word_after(ptx, ".version"), target = word_after(ptx, ".target");
  uint32_t major = 0;
  (void)std::from_chars(version.data(), version.data() + version.size(), major);
  // A newer version of the same major adds instructions and changes none; the parser rejects
  // unknown ones.
  if (major > ptx::kNewestMajor) {
    problem = fmt::format("cannot load PTX of .version {}: gpuemu knows versions up to {}.x",
                          version, ptx::kNewestMajor);
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  if (!target.starts_with("sm_")) return CUDA_SUCCESS;  // The parser reports it.
  int number = 0;
  const auto [end, bad] = std::from_chars(target.data() + 3, target.data() + target.size(), number);
  const bool is_specific = bad == std::errc() && end != target.data() + target.size();
  if (number > sm || (is_specific && number != sm)) {
    problem = fmt::format(
        "cannot load PTX: .target {} does not run on sm_{}; build for sm_{} or run with --arch",
        target, sm, sm);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  return CUDA_SUCCESS;
}

}  // namespace gpuemu::libcuda
