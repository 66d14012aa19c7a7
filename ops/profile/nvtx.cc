// Loading of two functions.
#include "ops/profile/nvtx.h"

#include <dlfcn.h>

namespace gpuemu {

Nvtx::~Nvtx() {
  if (library_ != nullptr) ::dlclose(library_);
}

bool Nvtx::load(const std::string& library) {
  library_ = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library_ == nullptr) return false;
  push_ = reinterpret_cast<int (*)(const char*)>(::dlsym(library_, "nvtxRangePushA"));
  pop_ = reinterpret_cast<int (*)()>(::dlsym(library_, "nvtxRangePop"));
  if (push_ != nullptr && pop_ != nullptr) return true;
  push_ = nullptr;
  pop_ = nullptr;
  return false;
}

}  // namespace gpuemu
