// random_fill: fills any shape with values of one stream of random numbers.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

/// Values of the attribute `kind`: 0 is uniform and 1 normal.
constexpr int32_t kLogUniform = 2, kInteger = 3, kKinds = 4;
constexpr int64_t kExponentMin = -1074, kExponentMax = 1023;

/// Threads that fill a large GPU. More threads would only add jumps of the generator.
constexpr int64_t kThreadsWanted = 1 << 18;
constexpr int64_t kRunMin = 16, kRunMax = 1024;

Status check_random_fill(const OpCase& c) {
  GPUEMU_TRY(check_shape(c.in(0), "state", {2}, "both halves of the generator's state"));
  const auto kind = c.attributes.get<int32_t>("kind");
  const auto lo = c.attributes.get<int64_t>("lo"), hi = c.attributes.get<int64_t>("hi");
  if (kind < 0 || kind >= kKinds) {
    return error(ErrorCode::InvalidArgument,
                 "kind is {}, expected 0 uniform, 1 normal, 2 log-uniform or 3 integer", kind);
  }
  if (kind == kInteger && lo > hi) {
    return error(ErrorCode::InvalidArgument, "lo is {} and hi {}, expected lo <= hi", lo, hi);
  }
  if (kind == kLogUniform && (lo < kExponentMin || lo > hi || hi > kExponentMax)) {
    return error(ErrorCode::InvalidArgument,
                 "lo is {} and hi {}, expected exponents {} <= lo <= "
                 "hi <= {}",
                 lo, hi, kExponentMin, kExponentMax);
  }
  return ok_status();
}

std::string unsupported_random_fill(const OpCase& c) {
  constexpr int64_t kMost = int64_t{1} << 36;
  if (c.out(0).count() <= kMost) return {};
  return fmt::format("y has {} elements, it jumps over up to {}", c.out(0).count(), kMost);
}

void plan_random_fill(const OpCase& c, Plan& plan) {
  const int64_t count = c.out(0).count();
  const auto share = static_cast<uint64_t>(std::max<int64_t>(count / kThreadsWanted, 1));
  const int64_t run = std::clamp(static_cast<int64_t>(std::bit_ceil(share)), kRunMin, kRunMax);
  const auto blocks = std::clamp<int64_t>((count + run * 256 - 1) / (run * 256), 1, kGridXMax);
  plan.launch({static_cast<uint32_t>(blocks), 1, 1}, {256, 1, 1})
      .arg(c.in(0))
      .arg(c.out(0))
      .arg(count)
      .arg(static_cast<int32_t>(run))
      .arg(c.attributes.get<int32_t>("kind"))
      .arg(c.attributes.get<double>("a"))
      .arg(c.attributes.get<double>("b"))
      .arg(c.attributes.get<int64_t>("lo"))
      .arg(c.attributes.get<int64_t>("hi"));
}

std::vector<TypeRule> types_of_random_fill() {
  std::vector<TypeRule> all = all_types();
  all.push_back({'S', {DType::UInt64}});
  return all;
}

AttributeSchema schema() {
  return {.number = 20,
          .fields = {{.name = "kind",
                      .type = AttributeType::Int32,
                      .fallback = 0,
                      .meaning = "0 uniform, 1 normal, 2 log-uniform, 3 integer"},
                     {.name = "a",
                      .type = AttributeType::Float64,
                      .fallback = 0,
                      .meaning = "uniform: the least value; normal: the mean"},
                     {.name = "b",
                      .type = AttributeType::Float64,
                      .fallback = 1,
                      .meaning = "uniform: the end of the values; normal: the standard deviation"},
                     {.name = "lo",
                      .type = AttributeType::Int64,
                      .fallback = 0,
                      .meaning = "log-uniform: the least exponent; integer: the least value"},
                     {.name = "hi",
                      .type = AttributeType::Int64,
                      .fallback = 0,
                      .meaning = "log-uniform: the largest exponent; integer: the largest value"}}};
}

}  // namespace

const OpKind& random_fill_op() {
  static const OpKind kOp = {
      .name = "random_fill",
      .summary = "y = the values of the xorshift128+ stream that starts with state",
      .inputs = {{.name = "state", .type = 'S', .rank_min = 1, .rank_max = 1}},
      .outputs = {{"y"}},
      .schema = schema(),
      .check = check_random_fill,
      .variants = {{.name = "jumps",
                    .module = "random_fill",
                    .entries = {"random_fill_{T}"},
                    .types = types_of_random_fill(),
                    .wide = true,
                    .unsupported = unsupported_random_fill,
                    .plan = plan_random_fill}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
