// A library that a machine may have, opened when it is first wanted. No header of it is needed: the
// functions that are used are declared by who uses them.
#pragma once

#include <span>
#include <string>

#include "common/base/result.h"

namespace gpuemu {

class SharedLibrary {
 public:
  /// The first of `names` that is there, where the loader looks or in a folder for libraries of
  /// cuda_homes(); a name with a slash is a path. Unavailable with what the loader says of the
  /// first name. It stays open to the end of the process: such libraries have threads of their own.
  static Result<SharedLibrary> open(std::span<const std::string> names);

  /// As it was opened.
  const std::string& name() const { return name_; }

  /// Unavailable naming the function and the library.
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
