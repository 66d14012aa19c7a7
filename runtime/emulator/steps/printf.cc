#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "common/base/limits.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/steps/externals.h"

namespace gpuemu::emulator::steps {
namespace {
constexpr size_t kStringMax = 4096;
/// Digits of a width or precision; more are meaningless on a line.
constexpr size_t kDigitsMax = 2;

/// Reads bytes at a generic address of one lane; fewer than requested if memory ends.
std::string bytes_at(Warp& warp, uint64_t address, size_t size, uint32_t lane) {
  std::string out;
  const uint64_t window = address & kWindowMask;
  for (size_t i = 0; i < size; ++i) {
    const uint64_t at = address - window + i;
    if (window == kLocalWindow) {
      if (at >= warp.local.stride) break;
      out.push_back(static_cast<char>(warp.local.data[size_t{lane} * warp.local.stride + at]));
    } else if (window == kSharedWindow) {
      if (at >= warp.launch->inputs.shared_bytes) break;
      out.push_back(static_cast<char>(warp.block->shared.bytes[at]));
    } else {
      if (warp.launch->memory->find(at, 1) == nullptr) break;
      out.push_back(*reinterpret_cast<const char*>(at));
    }
  }
  return out;
}
std::string string_at(Warp& warp, uint64_t address, uint32_t lane) {
  std::string out;
  while (out.size() < kStringMax) {
    const std::string next = bytes_at(warp, address + out.size(), 1, lane);
    if (next.empty() || next[0] == '\0') break;
    out += next;
  }
  return out;
}

/// A parsed conversion such as "%-*.3lld". A star stands for a width or precision among the
/// arguments.
struct Conversion {
  std::string flags;
  std::string width, precision;  ///< Digits, "*" or empty; a precision includes its dot.
  uint32_t longs = 0, shorts = 0;
  char type = 0;
  size_t end = 0;  ///< Its end in the format; 0: not a conversion.
};

std::string digits_at(const std::string& format, size_t& at) {
  if (at < format.size() && format[at] == '*') return ++at, "*";
  std::string digits;
  for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at) {
    if (digits.size() < kDigitsMax) digits.push_back(format[at]);
  }
  return digits;
}

Conversion conversion_at(const std::string& format, size_t at) {
  Conversion made;
  const auto among = [&](const char* letters) {
    return at < format.size() && format[at] != '\0' && std::strchr(letters, format[at]) != nullptr;
  };
  for (++at; among("-+ #0"); ++at) {
    if (made.flags.find(format[at]) == std::string::npos) made.flags.push_back(format[at]);
  }
  made.width = digits_at(format, at);
  if (among(".")) made.precision = fmt::format(".{}", digits_at(format, ++at));
  for (; among("hljztL"); ++at) ++(format[at] == 'h' ? made.shorts : made.longs);
  if (!among("diuoxXfFeEgGaAcsp%")) return made;
  made.type = format[at];
  made.end = at + 1;
  return made;
}

/// Reads the arguments of one printf, which are laid out like the members of a struct.
class Arguments {
 public:
  Arguments(Warp& warp, uint32_t lane, uint64_t at) : warp_(warp), lane_(lane), at_(at) {}

  uint64_t take(uint32_t bytes) {
    at_ = (at_ + bytes - 1) & ~uint64_t{bytes - 1};
    uint64_t bits = 0;
    const std::string raw = bytes_at(warp_, at_, bytes, lane_);
    std::memcpy(&bits, raw.data(), raw.size());
    at_ += bytes;
    ++taken_;
    return bits;
  }
  int taken() const { return taken_; }

 private:
  Warp& warp_;
  uint32_t lane_;
  uint64_t at_;
  int taken_ = 0;
};

std::string formatted(const std::string& spec, auto value) {
  char text[512] = "";
  std::snprintf(text, sizeof text, spec.c_str(), value);
  return text;
}

/// Replaces stars by the arguments' values, limited to what a line can show.
void resolve_stars(Conversion& it, Arguments& arguments) {
  constexpr int32_t kMost = 99;
  if (it.width == "*") {
    const auto wanted = std::clamp(static_cast<int32_t>(arguments.take(4)), -kMost, kMost);
    if (wanted < 0) it.flags.push_back('-');
    it.width = fmt::format("{}", std::abs(wanted));
  }
  if (it.precision == ".*") {
    const auto wanted = static_cast<int32_t>(arguments.take(4));
    it.precision = wanted < 0 ? "" : fmt::format(".{}", std::min(wanted, kMost));
  }
}

std::string convert(Warp& warp, Conversion it, Arguments& arguments, uint32_t lane) {
  resolve_stars(it, arguments);
  const std::string head = fmt::format("%{}{}{}", it.flags, it.width, it.precision);
  const auto bits_of = [&] { return arguments.take(it.longs != 0 ? 8 : 4); };
  switch (it.type) {
    case 'd':
    case 'i': {
      const uint64_t bits = bits_of();
      const long long value = it.longs != 0    ? static_cast<long long>(bits)
                              : it.shorts >= 2 ? static_cast<int8_t>(bits)
                              : it.shorts == 1 ? static_cast<int16_t>(bits)
                                               : static_cast<int32_t>(bits);
      return formatted(head + "lld", value);
    }
    case 'u':
    case 'o':
    case 'x':
    case 'X': {
      const uint64_t bits = bits_of();
      const unsigned long long value = it.longs != 0    ? bits
                                       : it.shorts >= 2 ? static_cast<uint8_t>(bits)
                                       : it.shorts == 1 ? static_cast<uint16_t>(bits)
                                                        : static_cast<uint32_t>(bits);
      return formatted(head + "ll" + it.type, value);
    }
    case 'c':
      return formatted(head + "c", static_cast<int>(arguments.take(4)));
    case 'p':
      return formatted(head + "p", reinterpret_cast<const void*>(arguments.take(8)));
    case 's': {
      const uint64_t address = arguments.take(8);
      const std::string text = address == 0 ? "(null)" : string_at(warp, address, lane);
      const size_t most =
          it.precision.empty() ? text.size() : static_cast<size_t>(std::atoi(&it.precision[1]));
      const std::string shown = text.substr(0, most);
      const auto width = static_cast<size_t>(std::atoi(it.width.c_str()));
      const std::string padding(width > shown.size() ? width - shown.size() : 0, ' ');
      return it.flags.find('-') != std::string::npos ? shown + padding : padding + shown;
    }
    default:
      return formatted(head + it.type, std::bit_cast<double>(arguments.take(8)));
  }
}

/// Returns the text, and the number of arguments it used.
std::pair<std::string, int> expand(Warp& warp, const std::string& format, uint64_t at,
                                   uint32_t lane) {
  Arguments arguments(warp, lane, at);
  std::string out;
  for (size_t i = 0; i < format.size() && out.size() < kPrintedBytesMax;) {
    const Conversion found = format[i] == '%' ? conversion_at(format, i) : Conversion();
    if (found.end == 0 || found.type == '%') {
      out.push_back(format[i]);
      i = std::max(found.end, i + 1);
      continue;
    }
    out += convert(warp, found, arguments, lane);
    i = found.end;
  }
  return {out, arguments.taken()};
}

}  // namespace

/// Returns the number of arguments it read, or -1 without a format.
void print(Warp& warp, const Step&, const CallSite& site) {
  const bool quiet = warp.launch->report.is_print_full();
  std::string format;
  uint64_t format_at = 0;  // Usually the same for all lanes.
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((warp.masks.running >> lane & 1) == 0) continue;
    const uint64_t wanted = argument(warp, site, 0, lane);
    if (wanted == 0) {
      give_back(warp, site, lane, ~uint64_t{0});
      continue;
    }
    if (wanted != format_at || (wanted & kWindowMask) == kLocalWindow) {
      format = string_at(warp, wanted, lane);
    }
    format_at = wanted;
    const auto [text, taken] = expand(warp, format, argument(warp, site, 1, lane), lane);
    give_back(warp, site, lane, static_cast<uint64_t>(taken));
    if (!quiet) warp.launch->report.print(text);
  }
}

void assert_failed(Warp& warp, const Step& step, const CallSite& site) {
  const auto lane = static_cast<uint32_t>(std::countr_zero(warp.masks.running));
  const std::string what = string_at(warp, argument(warp, site, 0, lane), lane);
  const std::string file = string_at(warp, argument(warp, site, 1, lane), lane);
  const auto line = static_cast<uint32_t>(argument(warp, site, 2, lane));
  const std::string function = string_at(warp, argument(warp, site, 3, lane), lane);
  report_check(
      warp, step,
      {.kind = DeviceFindingKind::Assert,
       .message = fmt::format("{}:{}: {}: assertion `{}' failed", file, line, function, what),
       .lane = lane,
       .count = static_cast<uint64_t>(std::popcount(warp.masks.running))});
}

}  // namespace gpuemu::emulator::steps
