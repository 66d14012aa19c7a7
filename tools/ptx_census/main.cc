// gpuemu-ptx-census: lists the PTX instructions in a set of files, and those that the emulator
// lacks.
#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>

#include "common/base/files.h"
#include "tools/ptx_census/coverage.h"
#include "tools/ptx_census/report.h"

namespace gpuemu::census {
namespace {

constexpr size_t kTextBytesMax = size_t{1} << 30;
constexpr int kComplete = 0, kMissing = 1, kUsage = 2;  // Exit codes.

struct Options {
  std::vector<std::string> paths;
  std::string format = "text";
  bool missing_only = false;
  bool coverage = false;
};

int run(const Options& options) {
  if (options.coverage) {
    std::cout << coverage_page();
    return kComplete;
  }
  const auto files = find_texts({options.paths.begin(), options.paths.end()});
  if (!files) {
    std::cerr << "gpuemu-ptx-census: " << files.error().message << '\n';
    return kUsage;
  }
  Census census;
  for (const std::filesystem::path& file : *files) {
    const auto text = read_file(file, kTextBytesMax);
    if (!text) {
      std::cerr << "gpuemu-ptx-census: " << text.error().message << '\n';
      return kUsage;
    }
    add_text(census, *text, file.string());
  }
  std::cout << (options.format == "json" ? to_json(census)
                                         : to_text(census, !options.missing_only));
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "gpuemu-ptx-census: the report could not be written\n";
    return kUsage;
  }
  return census.complete() ? kComplete : kMissing;
}

}  // namespace
}  // namespace gpuemu::census

int GPUEMU_MAIN(int argc, char** argv) {
  CLI::App app(
      "Counts the PTX instructions of files and says which of them the emulator lacks.\n"
      "Exit code: 0 all are executed, 1 something is missing or does not parse, 2 wrong usage.",
      "gpuemu-ptx-census");
  gpuemu::census::Options options;
  auto* paths =
      app.add_option("paths", options.paths, "Files, or folders that are searched for *.ptx");
  app.add_flag("--coverage", options.coverage, "Write what the emulator executes, as Markdown")
      ->excludes(paths);
  app.add_option("--format", options.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_flag("--missing", options.missing_only, "Text: leave out what is executed");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    const int code = app.exit(wrong);
    return code == 0 ? 0 : gpuemu::census::kUsage;
  }
  if (!options.coverage && options.paths.empty()) {
    std::cerr << "gpuemu-ptx-census: name files or folders; --help says more\n";
    return gpuemu::census::kUsage;
  }
  return gpuemu::census::run(options);
}
