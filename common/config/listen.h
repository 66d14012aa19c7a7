// [daemon.listen]: where remote workers reach a daemon.
#pragma once

#include <string>

namespace gpuemu {

/// All of them are given; the files are absolute.
struct ListenConfig {
  std::string address;  ///< tls+tcp://HOST:PORT
  std::string ca, cert, key, token_file;
};

}  // namespace gpuemu
