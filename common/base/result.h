// Result<T> is a value or an Error; Status is success or an Error. GPUEMU_TRY returns early with
// the error.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/base/check.h"
#include "common/base/error.h"

namespace gpuemu {

/// Its own union instead of a std::variant, which takes several times as long to compile: nearly
/// every function of the project returns a Result.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : ok_(true), value_(std::move(value)) {}           // NOLINT
  Result(Error failure) : ok_(false), error_(std::move(failure)) {}  // NOLINT
  Result(const Result& other)
    requires std::is_copy_constructible_v<T>
      : ok_(other.ok_) {
    if (ok_) {
      std::construct_at(&value_, other.value_);
    } else {
      std::construct_at(&error_, other.error_);
    }
  }
  Result(Result&& other) noexcept : ok_(other.ok_) { take(other); }
  Result& operator=(const Result& other)
    requires std::is_copy_constructible_v<T>
  {
    return *this = Result(other);
  }
  Result& operator=(Result&& other) noexcept {
    if (this != &other) {
      clear();
      ok_ = other.ok_;
      take(other);
    }
    return *this;
  }
  ~Result() { clear(); }

  explicit operator bool() const { return ok_; }
  bool ok() const { return ok_; }

  /// Requires ok().
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Requires !ok().
  const Error& error() const {
    GPUEMU_CHECK(!ok_);
    return error_;
  }

 private:
  T& value() {
    GPUEMU_CHECK(ok_);
    return value_;
  }
  const T& value() const {
    GPUEMU_CHECK(ok_);
    return value_;
  }
  void take(Result& other) noexcept {
    if (ok_) {
      std::construct_at(&value_, std::move(other.value_));
    } else {
      std::construct_at(&error_, std::move(other.error_));
    }
  }
  void clear() {
    if (ok_) {
      std::destroy_at(&value_);
    } else {
      std::destroy_at(&error_);
    }
  }

  bool ok_;
  union {
    T value_;
    Error error_;
  };
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
