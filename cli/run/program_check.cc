#include "cli/run/program_check.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include <elf.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

/// The section in which nvcc's host code registers its kernels with the runtime library.
constexpr const char* kRegistration = ".nvFatBinSegment";
constexpr const char* kRuntimeLibrary = "libcudart.so";
constexpr const char* kOwnRuntimeLibraries[] = {"libcudart.so.12", "libcudart.so.13"};

/// Returns the file that a shell would run for this word; "" if there is none.
std::string find_program(const std::string& command,
                         const std::map<std::string, std::string>& environment) {
  if (command.find('/') != command.npos) return command;
  const auto path = environment.find("PATH");
  std::string rest = path == environment.end() ? "/bin:/usr/bin" : path->second;
  for (rest += ':'; !rest.empty(); rest.erase(0, rest.find(':') + 1)) {
    const std::string folder = rest.substr(0, rest.find(':'));
    const std::string file = (fs::path(folder.empty() ? "." : folder) / command).string();
    if (::access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return file;
  }
  return "";
}

/// Reads the tables of an ELF file. Ranges outside the file read as empty.
class ElfTables {
 public:
  explicit ElfTables(const std::string& path) : file_(path, std::ios::binary) {
    const auto header = read<Elf64_Ehdr>(0, 1);
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
        header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_ident[EI_DATA] != ELFDATA2LSB) {
      return;
    }
    segments_ = read<Elf64_Phdr>(header[0].e_phoff, header[0].e_phnum);
    sections_ = read<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
    if (header[0].e_shstrndx < sections_.size()) {
      names_ = read_text(sections_[header[0].e_shstrndx]);
    }
    is_program_ = header[0].e_type == ET_EXEC || header[0].e_type == ET_DYN;
  }

  bool is_program() const { return is_program_; }
  bool has_loader() const {
    return std::ranges::find(segments_, uint32_t{PT_INTERP}, &Elf64_Phdr::p_type) !=
           segments_.end();
  }
  bool has_section(const std::string& name) const {
    return std::ranges::any_of(sections_, [&](const Elf64_Shdr& one) {
      return one.sh_name < names_.size() && name == names_.data() + one.sh_name;
    });
  }
  /// Returns whether it needs a library whose name begins with `begin`.
  bool needs(const std::string& begin) {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_DYNAMIC || section.sh_link >= sections_.size()) continue;
      const std::string names = read_text(sections_[section.sh_link]);
      for (const Elf64_Dyn& one :
           read<Elf64_Dyn>(section.sh_offset, section.sh_size / sizeof(Elf64_Dyn))) {
        const uint64_t at = one.d_un.d_val;
        if (one.d_tag == DT_NEEDED && at < names.size() &&
            names.compare(at, begin.size(), begin) == 0) {
          return true;
        }
      }
    }
    return false;
  }

 private:
  static constexpr uint64_t kBytesMax = uint64_t{64} << 20;

  template <typename Entry>
  std::vector<Entry> read(uint64_t offset, uint64_t count) {
    if (count > kBytesMax / sizeof(Entry)) return {};
    std::vector<Entry> made(count);
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    const auto bytes = static_cast<std::streamsize>(count * sizeof(Entry));
    if (!file_.read(reinterpret_cast<char*>(made.data()), bytes)) return {};
    return made;
  }
  /// Appends a zero, so that every name in the text is terminated.
  std::string read_text(const Elf64_Shdr& section) {
    const std::vector<char> bytes = read<char>(section.sh_offset, section.sh_size);
    return std::string(bytes.begin(), bytes.end()) + '\0';
  }

  std::ifstream file_;
  bool is_program_ = false;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::string names_;
};

}  // namespace

Status check_program(const std::string& command,
                     const std::map<std::string, std::string>& environment) {
  const std::string file = find_program(command, environment);
  struct stat about{};
  if (file.empty() || ::stat(file.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) {
    return ok_status();
  }
  ElfTables elf(file);
  if (!elf.is_program()) return ok_status();
  if ((about.st_mode & (S_ISUID | S_ISGID)) != 0) {
    return error(ErrorCode::Unsupported,
                 "{} is setuid or setgid, so the loader refuses gpuemu's libcuda.so.1; run a copy "
                 "without that bit",
                 file);
  }
  if (!elf.has_loader()) {
    return error(ErrorCode::Unsupported,
                 "{} is linked statically, so gpuemu's libcuda.so.1 cannot take the place of the "
                 "driver; link it dynamically",
                 file);
  }
  if (elf.has_section(kRegistration) && !elf.needs(kRuntimeLibrary)) {
    return error(ErrorCode::Unsupported,
                 "{} contains NVIDIA's runtime library (nvcc -cudart static, which is nvcc's "
                 "default), which gpuemu cannot replace; build the program with `gpuemu nvcc` in "
                 "place of nvcc, or with nvcc -cudart shared -lineinfo -gencode "
                 "arch=compute_80,code=compute_80",
                 file);
  }
  const bool has_own =
      std::ranges::any_of(kOwnRuntimeLibraries, [&](const char* one) { return elf.needs(one); });
  if (elf.needs(kRuntimeLibrary) && !has_own) {
    return error(
        ErrorCode::Unsupported,
        "{} needs the runtime library of another CUDA version (libcudart.so.11 or older); "
        "gpuemu has those of CUDA 12 and 13: build the program with the nvcc of one of them",
        file);
  }
  return ok_status();
}

}  // namespace gpuemu::cli
