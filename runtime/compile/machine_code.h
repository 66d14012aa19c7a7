// PTX to machine code through ptxas, and what the toolkit's tools say about machine code. The texts
// are as the tools print them; reading them is somebody else's affair.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

struct AssembleRequest {
  std::string ptx;
  std::string name;            ///< Name of the text, for messages.
  std::string arch = "sm_80";  ///< Code is made for it.
  bool disassemble = true;     ///< Where cuobjdump is there.
  std::string cache_folder;    ///< Created when missing; "" keeps nothing.
};

struct Assembled {
  std::string log;      ///< What `ptxas -v` printed.
  std::string listing;  ///< Output of `cuobjdump -sass`; "" when it was not disassembled.
};

/// Unavailable without ptxas, with the remedy. Unsupported when ptxas does not know the
/// architecture or the text is for a newer one. Compile with what ptxas said otherwise.
Result<Assembled> assemble(const AssembleRequest& request);

struct Disassembled {
  std::string listing;    ///< Output of `cuobjdump -sass`.
  std::string resources;  ///< Output of `cuobjdump --dump-resource-usage`.
};

/// Disassembles a cubin, fatbin, object file, library or program. Unavailable without cuobjdump,
/// with the remedy. Compile when there is no device code in the file, which is also what cuobjdump
/// says of one that is cut off.
Result<Disassembled> disassemble(const std::string& path);

/// What is missing here and how to get it: at most one line per tool.
std::vector<std::string> missing_machine_code_tools();

}  // namespace gpuemu
