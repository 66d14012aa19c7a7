// Result<T> is a value or an Error; Status is success or an Error. GPUEMU_TRY returns early with
// the error.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "common/base/check.h"
#include "common/base/error.h"

namespace gpuemu {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}          // NOLINT
  Result(Error failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }

  /// Requires ok().
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Requires !ok().
  const Error& error() const {
    GPUEMU_CHECK(!ok());
    return std::get<1>(state_);
  }

 private:
  T& value() {
    GPUEMU_CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const {
    GPUEMU_CHECK(ok());
    return std::get<0>(state_);
  }

  std::variant<T, Error> state_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error failure) : error_(std::move(failure)) {}  // NOLINT

  explicit operator bool() const { return !error_; }
  bool ok() const { return !error_; }
  /// Requires !ok().
  const Error& error() const {
    GPUEMU_CHECK(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

inline Status ok_status() { return {}; }

namespace internal {
template <typename T>
T take(Result<T>&& result) {
  return *std::move(result);
}
inline void take(Status&&) {}
}  // namespace internal

}  // namespace gpuemu

/// Evaluates to the value of a Result (nothing for a Status), or returns its error from this
/// function.
#define GPUEMU_TRY(expression)                                \
  __extension__({                                             \
    auto gpuemu_try_result = (expression);                    \
    if (!gpuemu_try_result) return gpuemu_try_result.error(); \
    ::gpuemu::internal::take(std::move(gpuemu_try_result));   \
  })
