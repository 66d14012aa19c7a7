// What a wrong command line is told.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace gpuemu::cli {

/// The mistake, the nearest right spelling and where the help is; no line break at the end.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& wrong);

}  // namespace gpuemu::cli
