#include "cli/parse/names.h"

#include <fmt/ranges.h>

#include "common/toml/nearest.h"

namespace gpuemu::cli {

Result<DType> dtype_option(const std::string& name) {
  if (const auto dtype = dtype_from_alias(name)) return *dtype;
  return error(ErrorCode::InvalidArgument, "--dtype: {}", unknown_dtype(name));
}

std::string not_one_of(const std::string& word, const std::vector<std::string>& words) {
  return fmt::format("'{}' is not one of {}{}", word, fmt::join(words, ", "),
                     did_you_mean(word, words));
}

Error no_such(const std::string& what, const std::string& name, const std::string& file,
              const std::vector<std::string>& known) {
  return {ErrorCode::InvalidArgument,
          fmt::format("no {} '{}' in {}; there are: {}{}", what, name, file,
                      known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")),
                      did_you_mean(name, known))};
}

Error with_nearest(const Error& missing, const std::string& name,
                   const std::vector<std::string>& known) {
  return {ErrorCode::InvalidArgument, missing.message + did_you_mean(name, known)};
}

}  // namespace gpuemu::cli
