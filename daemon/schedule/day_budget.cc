#include "daemon/schedule/day_budget.h"

#include <cmath>
#include <ctime>

#include <fmt/chrono.h>

#include "common/base/clock.h"
#include "common/base/units.h"

namespace gpuemu {
namespace {

constexpr double kMicrosPerBudgetSecond = 1e6;
constexpr auto kDay = int64_t{kDaySeconds};

}  // namespace

DayBudget::DayBudget(std::string user, double seconds)
    : user_(std::move(user)), limit_us_(std::llround(seconds * kMicrosPerBudgetSecond)) {}

void DayBudget::begin_day() {
  const int64_t today = now_seconds() / kDay;
  if (use_.day != today) use_ = {today, 0};
}

void DayBudget::add(int64_t microseconds) {
  const std::lock_guard lock(mutex_);
  begin_day();
  use_.used_us += microseconds;
}

std::optional<std::string> DayBudget::used_up() {
  const std::lock_guard lock(mutex_);
  begin_day();
  if (use_.used_us < limit_us_) return std::nullopt;
  const auto midnight = static_cast<std::time_t>((use_.day + 1) * kDay);
  return fmt::format(
      "user {}: {:g} s of device time are used up for today (device_seconds_per_day), renewed at "
      "{:%Y-%m-%d %H:%M} UTC",
      user_, static_cast<double>(limit_us_) / kMicrosPerBudgetSecond, fmt::gmtime(midnight));
}

DayBudget::Use DayBudget::use() {
  const std::lock_guard lock(mutex_);
  begin_day();
  return use_;
}

void DayBudget::restore(Use use) {
  const std::lock_guard lock(mutex_);
  use_ = use;
}

}  // namespace gpuemu
