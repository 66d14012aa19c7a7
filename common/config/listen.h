// [daemon.listen]: the address at which remote workers reach a daemon.
#pragma once

#include <string>

namespace gpuemu {

/// All members are set; file paths are absolute.
struct ListenConfig {
  std::string address;  ///< tls+tcp://HOST:PORT
  std::string ca, cert, key, token_file;
};

}  // namespace gpuemu
