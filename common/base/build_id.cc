#include "common/base/build_id.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include <elf.h>
#include <fmt/core.h>

namespace gpuemu {
namespace {

constexpr uint64_t kNotesBytesMax = 1 << 16;
constexpr size_t kProgramHeadersMax = 256;
constexpr std::string_view kOwner("GNU\0", 4);

template <typename T>
std::optional<T> read_at(std::ifstream& in, uint64_t offset) {
  T value;
  in.seekg(static_cast<std::streamoff>(offset));
  if (!in.read(reinterpret_cast<char*>(&value), sizeof value)) return std::nullopt;
  return value;
}

size_t padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

/// Returns the build id among the notes of one segment; "" if there is none.
std::string id_among(std::string_view notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data(), sizeof header);
    notes.remove_prefix(sizeof header);
    const size_t owner_bytes = padded(header.n_namesz), bytes = padded(header.n_descsz);
    if (owner_bytes > notes.size() || bytes > notes.size() - owner_bytes) return "";
    if (header.n_type == NT_GNU_BUILD_ID && notes.substr(0, header.n_namesz) == kOwner) {
      std::string digits;
      for (const char byte : notes.substr(owner_bytes, header.n_descsz)) {
        fmt::format_to(std::back_inserter(digits), "{:02x}", static_cast<unsigned char>(byte));
      }
      return digits;
    }
    notes.remove_prefix(owner_bytes + bytes);
  }
  return "";
}

}  // namespace

std::string build_id_of(const std::filesystem::path& program) {
  std::ifstream in(program, std::ios::binary);
  const auto file = read_at<Elf64_Ehdr>(in, 0);
  if (!file || std::memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
      file->e_ident[EI_CLASS] != ELFCLASS64 || file->e_phentsize != sizeof(Elf64_Phdr)) {
    return "";
  }
  const size_t headers = std::min<size_t>(file->e_phnum, kProgramHeadersMax);
  for (size_t number = 0; number < headers; ++number) {
    const auto header = read_at<Elf64_Phdr>(in, file->e_phoff + number * sizeof(Elf64_Phdr));
    if (!header) return "";
    if (header->p_type != PT_NOTE || header->p_filesz > kNotesBytesMax) continue;
    std::string notes(header->p_filesz, '\0');
    in.seekg(static_cast<std::streamoff>(header->p_offset));
    if (!in.read(notes.data(), static_cast<std::streamsize>(notes.size()))) return "";
    if (std::string id = id_among(notes); !id.empty()) return id;
  }
  return "";
}

}  // namespace gpuemu
