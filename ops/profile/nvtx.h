// NVTX ranges, which Nsight tools show, through the library that is loaded when there is one.
#pragma once

#include <string>

namespace gpuemu {

class Nvtx {
 public:
  Nvtx() = default;
  ~Nvtx();
  Nvtx(const Nvtx&) = delete;
  Nvtx& operator=(const Nvtx&) = delete;

  /// False, and every later call does nothing, where there is no such library.
  bool load(const std::string& library = "libnvToolsExt.so.1");
  void push(const std::string& name) const {
    if (push_ != nullptr) push_(name.c_str());
  }
  void pop() const {
    if (pop_ != nullptr) pop_();
  }

 private:
  void* library_ = nullptr;
  int (*push_)(const char*) = nullptr;
  int (*pop_)() = nullptr;
};

}  // namespace gpuemu
