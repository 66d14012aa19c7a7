#include "bindings/libcuda/call_sites/elf_file.h"

#include <algorithm>
#include <cstring>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuemu::libcuda {

std::unique_ptr<ElfFile> ElfFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat known{};
  void* mapped = MAP_FAILED;
  const bool readable = ::fstat(file, &known) == 0 && known.st_size > 0;
  const auto bytes = static_cast<size_t>(known.st_size);
  if (readable) mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (mapped == MAP_FAILED) return nullptr;
  std::unique_ptr<ElfFile> made(new ElfFile({static_cast<const unsigned char*>(mapped), bytes}));
  const auto header = made->at<Elf64_Ehdr>(0);
  const bool is_elf = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                      header->e_ident[EI_CLASS] == ELFCLASS64;
  return is_elf ? std::move(made) : nullptr;
}

ElfFile::~ElfFile() { ::munmap(const_cast<unsigned char*>(bytes_.data()), bytes_.size()); }

template <typename Header>
std::optional<Header> ElfFile::at(uint64_t offset) const {
  const auto bytes = part(offset, sizeof(Header));
  if (bytes.size() != sizeof(Header)) return std::nullopt;
  Header made;
  std::memcpy(&made, bytes.data(), sizeof made);
  return made;
}

std::span<const unsigned char> ElfFile::part(uint64_t offset, uint64_t bytes) const {
  if (offset > bytes_.size() || bytes > bytes_.size() - offset) return {};
  return bytes_.subspan(offset, bytes);
}

std::string_view ElfFile::text_at(std::span<const unsigned char> table, uint64_t offset) const {
  if (offset >= table.size()) return {};
  const auto* text = reinterpret_cast<const char*>(table.data() + offset);
  return {text, strnlen(text, table.size() - offset)};
}

std::span<const unsigned char> ElfFile::section(std::string_view name) const {
  const auto header = at<Elf64_Ehdr>(0);
  const auto names =
      at<Elf64_Shdr>(header->e_shoff + uint64_t{header->e_shstrndx} * sizeof(Elf64_Shdr));
  if (!names) return {};
  const auto table = part(names->sh_offset, names->sh_size);
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto one = at<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!one || text_at(table, one->sh_name) != name) continue;
    const bool has_bytes = one->sh_type != SHT_NOBITS && (one->sh_flags & SHF_COMPRESSED) == 0;
    return has_bytes ? part(one->sh_offset, one->sh_size) : std::span<const unsigned char>();
  }
  return {};
}

std::string ElfFile::function_at(uint64_t address) const {
  constexpr std::string_view kTables[][2] = {{".symtab", ".strtab"}, {".dynsym", ".dynstr"}};
  for (const auto& [symbols, names] : kTables) {
    const auto table = section(symbols);
    for (size_t i = 0; i + sizeof(Elf64_Sym) <= table.size(); i += sizeof(Elf64_Sym)) {
      Elf64_Sym one;
      std::memcpy(&one, table.data() + i, sizeof one);
      const bool covers = ELF64_ST_TYPE(one.st_info) == STT_FUNC && one.st_shndx != SHN_UNDEF &&
                          address >= one.st_value && address - one.st_value < one.st_size;
      if (covers) return std::string(text_at(section(names), one.st_name));
    }
  }
  return {};
}

uint64_t ElfFile::first_address() const {
  const auto header = at<Elf64_Ehdr>(0);
  uint64_t first = ~uint64_t{0};
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto one = at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (one && one->p_type == PT_LOAD) first = std::min(first, one->p_vaddr & ~uint64_t{4095});
  }
  return first == ~uint64_t{0} ? 0 : first;
}

}  // namespace gpuemu::libcuda
