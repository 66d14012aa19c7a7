// Assembles PTX to machine code with ptxas, and runs the toolkit's tools on machine code. The texts
// are returned as the tools print them; parsing them is the caller's task.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

struct AssembleRequest {
  std::string ptx;
  std::string name;            ///< Name of the text, for messages.
  std::string arch = "sm_80";  ///< Target architecture.
  bool disassemble = true;     ///< If cuobjdump is installed.
  std::string cache_folder;    ///< Created if missing; "" disables the cache.
};

struct Assembled {
  std::string log;      ///< What `ptxas -v` printed.
  std::string listing;  ///< Output of `cuobjdump -sass`; "" if it was not disassembled.
};

/// Errors: Unavailable without ptxas (the message says how to get it), Unsupported if ptxas does
/// not know the architecture or the text is for a newer one, otherwise Compile with the output of
/// ptxas.
Result<Assembled> assemble(const AssembleRequest& request);

struct Disassembled {
  std::string listing;    ///< Output of `cuobjdump -sass`.
  std::string resources;  ///< Output of `cuobjdump --dump-resource-usage`.
};

/// Disassembles a cubin, fatbin, object file, library or program. Errors: Unavailable without
/// cuobjdump (the message says how to get it), Compile if the file has no device code. For a
/// truncated file, cuobjdump reports the same.
Result<Disassembled> disassemble(const std::string& path);

/// Returns which tools are missing and how to get them: at most one line per tool.
std::vector<std::string> missing_machine_code_tools();

}  // namespace gpuemu
