#include "cli/run/nvcc.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/run/run_options.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsualArchitecture = "80";

/// An option of the command line and its value: "-arch=sm_80", or "-arch" "sm_80".
struct Word {
  std::string option;
  std::optional<std::string> value;
};

Word split(const std::string& word) {
  const size_t equals = word.find('=');
  if (!word.starts_with('-') || equals == word.npos) return {word, std::nullopt};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

bool is_one_of(const std::string& word, std::initializer_list<const char*> all) {
  return std::ranges::find(all, word) != all.end();
}

std::string target(const std::string& number) {
  return fmt::format("arch=compute_{0},code=compute_{0}", number);
}

/// Returns the number in "sm_80", "compute_80" or "lto_80"; nothing for other words.
std::optional<std::string> number_of_target(const std::string& text) {
  const size_t line = text.find('_');
  if (line == text.npos || !is_one_of(text.substr(0, line), {"sm", "compute", "lto"})) {
    return std::nullopt;
  }
  return text.substr(line + 1);
}

class Translation {
 public:
  explicit Translation(NvccArguments& into) : into_(into) {}

  /// Adds a target such as "arch=compute_80,code=[sm_80,compute_80]". PTX is kept for each target.
  void add_target(const std::string& value) {
    const size_t comma = value.find(",code=");
    const auto arch = split("-" + value.substr(0, comma)).value;
    const auto number = number_of_target(arch.value_or(""));
    if (!number) {
      into_.words.push_back("-gencode=" + value);
      return;
    }
    if (comma != value.npos) {
      std::string codes = value.substr(comma + std::strlen(",code="));
      std::erase_if(codes, [](char letter) { return std::strchr("[]\"'", letter) != nullptr; });
      leave_out_machine_code(codes);
    }
    add(*number);
  }
  void add(const std::string& number) {
    if (std::ranges::find(numbers_, number) != numbers_.end()) return;
    numbers_.push_back(number);
    into_.words.insert(into_.words.end(), {"-gencode", target(number)});
  }
  void leave_out_machine_code(const std::string& codes) {
    for (const std::string& code : split_list(codes)) {
      const bool is_new = std::ranges::find(into_.left_out, code) == into_.left_out.end();
      if (!code.starts_with("compute_") && is_new) into_.left_out.push_back(code);
    }
  }
  bool has_target() const { return !numbers_.empty(); }

 private:
  NvccArguments& into_;
  std::vector<std::string> numbers_;
};

/// The user's choices for options that are added otherwise.
struct Choices {
  bool runtime = false, line_info = false;
  std::string arch;           ///< The value of --arch, -arch or --gpu-architecture.
  bool is_arch_ours = false;  ///< Whether it comes from --arch.
  std::vector<std::string> targets;
  std::string codes;  ///< The value of -code.
};

/// Sorts the arguments: those about targets go to `choices`, all others to `words`.
void sort_arguments(const std::vector<std::string>& given, std::vector<std::string>& words,
                    Choices& choices) {
  for (size_t i = 0; i < given.size(); ++i) {
    Word word = split(given[i]);
    const auto take = [&]() -> std::string {
      if (!word.value && i + 1 < given.size()) word.value = given[++i];
      return word.value.value_or("");
    };
    if (is_one_of(word.option, {"--arch", "-arch", "--gpu-architecture"})) {
      choices.is_arch_ours = word.option == "--arch";
      choices.arch = take();
    } else if (is_one_of(word.option, {"-gencode", "--generate-code"})) {
      choices.targets.push_back(take());
    } else if (is_one_of(word.option, {"-code", "--gpu-code"})) {
      choices.codes += (choices.codes.empty() ? "" : ",") + take();
    } else {
      choices.runtime |= is_one_of(word.option, {"-cudart", "--cudart"});
      choices.line_info |=
          is_one_of(word.option, {"-lineinfo", "--generate-line-info", "-G", "--device-debug"});
      words.push_back(given[i]);
    }
  }
}

}  // namespace

Result<NvccArguments> nvcc_arguments(const std::vector<std::string>& given,
                                     const std::string& library_folder) {
  NvccArguments made;
  // With these options, the user wants to see machine code only.
  const auto is_cubin = [](const std::string& word) {
    return is_one_of(word, {"-cubin", "--cubin"});
  };
  if (std::ranges::any_of(given, is_cubin)) return NvccArguments{given, {}};
  Choices choices;
  sort_arguments(given, made.words, choices);
  Translation translation(made);
  for (const std::string& one : choices.targets) translation.add_target(one);
  translation.leave_out_machine_code(choices.codes);
  const bool names_many = is_one_of(choices.arch, {"all", "all-major", "native"});
  if (names_many) translation.leave_out_machine_code(choices.arch);
  if (!choices.arch.empty() && !names_many) {
    const auto number = number_of_target(choices.arch);
    if (!number) {
      return error(ErrorCode::InvalidArgument, "-arch {}: expected an architecture such as sm_80",
                   choices.arch);
    }
    if (!choices.is_arch_ours) translation.leave_out_machine_code(choices.arch);
    translation.add(*number);
  }
  if (!translation.has_target() && choices.targets.empty()) translation.add(kUsualArchitecture);
  if (!choices.runtime) made.words.emplace_back("-cudart=shared");
  if (!choices.line_info) made.words.emplace_back("-lineinfo");
  // -lcuda has to be found where no driver is installed, too.
  made.words.insert(made.words.end(),
                    {"-L" + library_folder, "-Xlinker", "-rpath=" + library_folder});
  return made;
}

Result<std::string> find_nvcc(const std::map<std::string, std::string>& environment,
                              const std::string& own_folder) {
  std::vector<std::string> folders;
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  for (std::string rest = value("PATH") + ":"; !rest.empty(); rest.erase(0, rest.find(':') + 1)) {
    folders.push_back(rest.substr(0, rest.find(':')));
  }
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (!value(name).empty()) folders.push_back(value(name) + "/bin");
  }
  folders.emplace_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders) {
    const std::string file = (fs::path(folder.empty() ? "." : folder) / "nvcc").string();
    std::error_code ignored;
    // A link to this program is not the compiler itself.
    const fs::path real = fs::canonical(file, ignored);
    if (ignored || ::access(file.c_str(), X_OK) != 0 || fs::is_directory(real, ignored)) continue;
    if (real.parent_path() == fs::path(own_folder)) continue;
    return file;
  }
  return error(ErrorCode::NotFound,
               "cannot find nvcc in PATH, CUDA_HOME, CUDA_PATH or /usr/local/cuda; install a CUDA "
               "toolkit (it needs no GPU)");
}

Error become_nvcc(const std::vector<std::string>& given,
                  const std::map<std::string, std::string>& environment,
                  const std::string& program_folder) {
  const Result<std::string> library = find_library_folder(program_folder);
  if (!library) return library.error();
  Result<NvccArguments> arguments = nvcc_arguments(given, *library);
  if (!arguments) return arguments.error();
  const Result<std::string> nvcc = find_nvcc(environment, program_folder);
  if (!nvcc) return nvcc.error();
  if (!arguments->left_out.empty()) {
    std::fprintf(stderr, "gpuemu nvcc: leaves out machine code (%s) and keeps PTX, which runs\n",
                 fmt::format("{}", fmt::join(arguments->left_out, ", ")).c_str());
  }
  std::vector<char*> words{const_cast<char*>(nvcc->c_str())};
  for (std::string& word : arguments->words) words.push_back(word.data());
  words.push_back(nullptr);
  ::execv(nvcc->c_str(), words.data());
  return error(ErrorCode::Io, "cannot run {}: {}", *nvcc, std::strerror(errno));
}

}  // namespace gpuemu::cli
