// Names that users give, and what is said of those that do not exist.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/numeric/dtype.h"

namespace gpuemu::cli {

/// The value of --dtype, a dtype or another name for one. InvalidArgument says what there is.
Result<DType> dtype_option(const std::string& name);

/// "'jsn' is not one of json, text; did you mean 'json'?"
std::string not_one_of(const std::string& word, const std::vector<std::string>& words);

/// InvalidArgument: "no op 'rwos' in gpuemu.toml; there are: rows, cols; did you mean 'rows'?"
Error no_such(const std::string& what, const std::string& name, const std::string& file,
              const std::vector<std::string>& known);

/// InvalidArgument with the message of `missing` and the nearest name, if any is near.
Error with_nearest(const Error& missing, const std::string& name,
                   const std::vector<std::string>& known);

}  // namespace gpuemu::cli
