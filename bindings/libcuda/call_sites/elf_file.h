// Reads sections and symbols of an ELF file on disk. The file is untrusted: whatever is damaged is
// treated as missing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuemu::libcuda {

/// An ELF file, mapped into memory while the object lives. Thread-safe after open().
class ElfFile {
 public:
  /// Returns nullptr when the file cannot be read or is not a 64-bit ELF file.
  static std::unique_ptr<ElfFile> open(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// Returns the bytes of a section, valid while the object lives. Empty when the file has no such
  /// section or compresses it.
  std::span<const unsigned char> section(std::string_view name) const;
  /// Returns the mangled name of the function that covers `address`, a virtual address of the file;
  /// "" when there is none.
  std::string function_at(uint64_t address) const;
  /// Returns the lowest virtual address that is loaded; 0 when nothing is.
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
