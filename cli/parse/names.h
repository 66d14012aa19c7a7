// Resolves names that users give, and makes the errors for those that do not exist.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/numeric/dtype.h"

namespace gpuemu::cli {

/// Returns the value of --dtype, a dtype or an alias. InvalidArgument lists the existing ones.
Result<DType> dtype_option(const std::string& name);

/// Returns "'jsn' is not one of json, text; did you mean 'json'?".
std::string not_one_of(const std::string& word, const std::vector<std::string>& words);

/// Makes the InvalidArgument error "no op 'rwos' in gpuemu.toml; there are: rows, cols; did you
/// mean 'rows'?".
Error no_such(const std::string& what, const std::string& name, const std::string& file,
              const std::vector<std::string>& known);

/// Makes an InvalidArgument error with the message of `missing` and the most similar name, if any
/// is similar enough.
Error with_nearest(const Error& missing, const std::string& name,
                   const std::vector<std::string>& known);

}  // namespace gpuemu::cli
