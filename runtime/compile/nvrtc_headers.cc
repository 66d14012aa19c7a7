// The header texts. Only what is useful in device code is declared, no host functions.
#include "runtime/compile/nvrtc_headers.h"

namespace gpuemu::compile {
namespace {

constexpr const char* kPreludeText = R"(#pragma once
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#define NAN __builtin_bit_cast(float, 0x7fc00000)
#define HUGE_VALF INFINITY
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000)
#define __builtin_huge_valf() HUGE_VALF
#define __builtin_huge_val() HUGE_VAL
#define __builtin_inff() HUGE_VALF
#define __builtin_inf() HUGE_VAL
#define __builtin_nanf(payload) NAN
#define __builtin_nan(payload) __builtin_bit_cast(double, 0x7ff8000000000000)
typedef unsigned int uint;
typedef unsigned short ushort;
#include <limits.h>
#include <math.h>
#include <stddef.h>
)";

constexpr const char* kMath = R"(#pragma once
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
)";

constexpr const char* kCmath = R"(#pragma once
#include <math.h>
namespace std {
using ::abs; using ::acos; using ::acosh; using ::asin; using ::asinh; using ::atan; using ::atan2;
using ::atanh; using ::cbrt; using ::ceil; using ::copysign; using ::cos; using ::cosh; using ::erf;
using ::erfc; using ::exp; using ::exp2; using ::expm1; using ::fabs; using ::fdim; using ::floor;
using ::fma; using ::fmax; using ::fmin; using ::fmod; using ::frexp; using ::hypot; using ::ilogb;
using ::isfinite; using ::isinf; using ::isnan; using ::ldexp; using ::lgamma; using ::llrint;
using ::llround; using ::log; using ::log10; using ::log1p; using ::log2; using ::logb;
using ::lrint; using ::lround; using ::modf; using ::nearbyint; using ::nextafter; using ::pow;
using ::remainder; using ::remquo; using ::rint; using ::round; using ::scalbln; using ::scalbn;
using ::signbit; using ::sin; using ::sinh; using ::sqrt; using ::tan; using ::tanh; using ::tgamma;
using ::trunc;
}
)";

// Repeats declarations of libcu++, whose headers a source may include as well.
constexpr const char* kStdint = R"(#pragma once
#include <limits.h>
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
typedef int64_t intmax_t;
typedef uint64_t uintmax_t;
#define INT8_MIN SCHAR_MIN
#define INT16_MIN SHRT_MIN
#define INT32_MIN INT_MIN
#define INT64_MIN LLONG_MIN
#define INT8_MAX SCHAR_MAX
#define INT16_MAX SHRT_MAX
#define INT32_MAX INT_MAX
#define INT64_MAX LLONG_MAX
#define UINT8_MAX UCHAR_MAX
#define UINT16_MAX USHRT_MAX
#define UINT32_MAX UINT_MAX
#define UINT64_MAX ULLONG_MAX
)";

constexpr const char* kCstdint = R"(#pragma once
#include <stdint.h>
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::uint8_t;
using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::intptr_t; using ::uintptr_t;
using ::intmax_t; using ::uintmax_t;
}
)";

constexpr const char* kStddef = R"(#pragma once
#ifndef NULL
#define NULL 0
#endif
typedef long ptrdiff_t;
)";

constexpr const char* kCstddef = R"(#pragma once
#include <stddef.h>
namespace std {
using ::ptrdiff_t; using size_t = decltype(sizeof(0)); using nullptr_t = decltype(nullptr);
}
)";

constexpr const char* kFloat = R"(#pragma once
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_EPSILON 1.19209290e-7F
#define FLT_MIN 1.17549435e-38F
#define FLT_TRUE_MIN 1.40129846e-45F
#define FLT_MAX 3.40282347e+38F
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_MIN 2.2250738585072014e-308
#define DBL_TRUE_MIN 4.9406564584124654e-324
#define DBL_MAX 1.7976931348623157e+308
)";

// Has the names of libcu++, so that both may be included.
constexpr const char* kLimits = R"(#pragma once
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-SHRT_MAX - 1)
#define SHRT_MAX 0x7fff
#define USHRT_MAX 0xffff
#define INT_MIN (-INT_MAX - 1)
#define INT_MAX 0x7fffffff
#define UINT_MAX 0xffffffff
#define LONG_MIN (-LONG_MAX - 1)
#define LONG_MAX LLONG_MAX
#define ULONG_MAX ULLONG_MAX
#define LLONG_MIN (-LLONG_MAX - 1)
#define LLONG_MAX 0x7fffffffffffffffLL
#define ULLONG_MAX 0xffffffffffffffffUL
)";

// The CUDA C++ library provides these for device code if its headers are installed.
constexpr const char* kNumericLimits = R"(#pragma once
#include <cuda/std/limits>
namespace std { using cuda::std::numeric_limits; }
)";

constexpr const char* kTypeTraits = R"(#pragma once
#include <cuda/std/type_traits>
namespace std {
using cuda::std::add_const_t; using cuda::std::add_pointer_t; using cuda::std::bool_constant;
using cuda::std::common_type_t; using cuda::std::conditional; using cuda::std::conditional_t;
using cuda::std::conjunction_v; using cuda::std::decay; using cuda::std::decay_t;
using cuda::std::disjunction_v; using cuda::std::enable_if; using cuda::std::enable_if_t;
using cuda::std::false_type; using cuda::std::integral_constant; using cuda::std::is_arithmetic;
using cuda::std::is_arithmetic_v; using cuda::std::is_base_of_v; using cuda::std::is_class_v;
using cuda::std::is_const_v; using cuda::std::is_convertible_v; using cuda::std::is_enum_v;
using cuda::std::is_floating_point; using cuda::std::is_floating_point_v;
using cuda::std::is_integral; using cuda::std::is_integral_v; using cuda::std::is_pointer;
using cuda::std::is_pointer_v; using cuda::std::is_same; using cuda::std::is_same_v;
using cuda::std::is_signed; using cuda::std::is_signed_v;
using cuda::std::is_trivially_copyable_v; using cuda::std::is_unsigned;
using cuda::std::is_unsigned_v; using cuda::std::is_void; using cuda::std::is_void_v;
using cuda::std::make_signed_t; using cuda::std::make_unsigned; using cuda::std::make_unsigned_t;
using cuda::std::negation_v; using cuda::std::remove_const; using cuda::std::remove_const_t;
using cuda::std::remove_cv; using cuda::std::remove_cv_t; using cuda::std::remove_pointer;
using cuda::std::remove_pointer_t; using cuda::std::remove_reference;
using cuda::std::remove_reference_t; using cuda::std::true_type;
using cuda::std::underlying_type_t; using cuda::std::void_t;
}
)";

// NVRTC itself provides printf, assert, malloc, memcpy and others.
constexpr const char* kKnownAnyway = "#pragma once\n#include <stddef.h>\n";

constexpr VirtualHeader kHeaders[] = {
    {kPrelude, kPreludeText},     {"math.h", kMath},          {"cmath", kCmath},
    {"stdint.h", kStdint},        {"cstdint", kCstdint},      {"stddef.h", kStddef},
    {"cstddef", kCstddef},        {"float.h", kFloat},        {"cfloat", kFloat},
    {"limits.h", kLimits},        {"climits", kLimits},       {"limits", kNumericLimits},
    {"type_traits", kTypeTraits}, {"stdio.h", kKnownAnyway},  {"cstdio", kKnownAnyway},
    {"stdlib.h", kKnownAnyway},   {"cstdlib", kKnownAnyway},  {"string.h", kKnownAnyway},
    {"cstring", kKnownAnyway},    {"assert.h", kKnownAnyway}, {"cassert", kKnownAnyway}};

}  // namespace

std::span<const VirtualHeader> virtual_headers() { return kHeaders; }

}  // namespace gpuemu::compile
