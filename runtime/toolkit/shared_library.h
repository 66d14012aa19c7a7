// An optional shared library, opened on first use. Needs none of its headers: the caller declares
// the functions that it uses.
#pragma once

#include <span>
#include <string>

#include "common/base/result.h"

namespace gpuemu {

class SharedLibrary {
 public:
  /// Opens the first of `names` that the loader finds, or that is in a library folder of
  /// cuda_homes(). A name with a slash is a path. Unavailable includes the loader's message for the
  /// first name. The library stays open until the process ends, because such libraries have threads
  /// of their own.
  static Result<SharedLibrary> open(std::span<const std::string> names);

  /// Returns the name by which it was opened.
  const std::string& name() const { return name_; }

  /// Unavailable names the function and the library.
  template <typename Function>
  Status bind(const char* function, Function& into) const {
    into = reinterpret_cast<Function>(find(function));
    if (into != nullptr) return ok_status();
    return error(ErrorCode::Unavailable, "{} has no '{}': another version is needed", name_,
                 function);
  }

 private:
  SharedLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* find(const char* function) const;

  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace gpuemu
