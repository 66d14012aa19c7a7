// The symbols and sections of an ELF file on the disk. The file is untrusted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuemu::libcuda {

/// Mapped as long as it lives.
class ElfFile {
 public:
  /// Null for what is no 64-bit ELF file, or cannot be read.
  static std::unique_ptr<ElfFile> open(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// Empty where there is none, or where it is compressed.
  std::span<const unsigned char> section(std::string_view name) const;
  /// The function that covers the address, by the file's own addresses; "" for none.
  std::string function_at(uint64_t address) const;
  /// The lowest address of what is loaded.
  uint64_t first_address() const;

 private:
  explicit ElfFile(std::span<const unsigned char> bytes) : bytes_(bytes) {}
  template <typename Header>
  std::optional<Header> at(uint64_t offset) const;
  std::span<const unsigned char> part(uint64_t offset, uint64_t bytes) const;
  std::string_view text_at(std::span<const unsigned char> table, uint64_t offset) const;

  std::span<const unsigned char> bytes_;
};

}  // namespace gpuemu::libcuda
