#include "runtime/emulator/steps/printf.h"

#include <cstdio>
#include <cstring>

#include "common/base/limits.h"

namespace gpuemu::emulator::steps {
namespace {
constexpr size_t kStringMax = 4096;
/// Digits of a width or precision: more than format_one's buffer holds say nothing.
constexpr size_t kDigitsMax = 2;

uint64_t argument(const Warp& warp, const CallSite& site, size_t which, uint32_t lane) {
  uint64_t value = 0;
  const Frame& frame = *warp.levels[warp.depth - 1].frame;
  if (which >= site.arguments.size()) return 0;
  const ParamSlot& slot = site.arguments[which];
  std::memcpy(&value, &frame.params[size_t{lane} * frame.code->param_bytes + slot.offset],
              std::min<size_t>(slot.bytes, 8));
  return value;
}

/// Bytes at a generic address of one lane; fewer than asked for where memory ends.
std::string bytes_at(Warp& warp, uint64_t address, size_t size, uint32_t lane) {
  std::string out;
  const uint64_t window = address & kWindowMask;
  for (size_t i = 0; i < size; ++i) {
    const uint64_t at = address - window + i;
    if (window == kLocalWindow) {
      if (at >= warp.local_stride) break;
      out.push_back(static_cast<char>(warp.local[size_t{lane} * warp.local_stride + at]));
    } else if (window == kSharedWindow) {
      if (at >= warp.launch->shared_bytes) break;
      out.push_back(static_cast<char>(warp.block->shared[at]));
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

/// One conversion. `spec` is "%...c" without length letters; they are ours to add.
std::string format_one(const std::string& spec, char kind, uint64_t bits, bool is_long) {
  char text[512] = "";
  const std::string head = spec.substr(0, spec.size() - 1);
  if (std::strchr("fFeEgGaA", kind) != nullptr) {
    double value = 0;
    std::memcpy(&value, &bits, 8);
    std::snprintf(text, sizeof text, spec.c_str(), value);
  } else if (kind == 'c') {
    std::snprintf(text, sizeof text, spec.c_str(), static_cast<int>(bits));
  } else if (kind == 'p') {
    return fmt::format("{:#x}", bits);
  } else if (kind == 'd' || kind == 'i') {
    const long long value = is_long ? static_cast<long long>(bits) : static_cast<int32_t>(bits);
    std::snprintf(text, sizeof text, (head + "ll" + kind).c_str(), value);
  } else {
    const unsigned long long value = is_long ? bits : static_cast<uint32_t>(bits);
    std::snprintf(text, sizeof text, (head + "ll" + kind).c_str(), value);
  }
  return text;
}

std::string expand(Warp& warp, const std::string& format, uint64_t arguments, uint32_t lane) {
  std::string out;
  uint64_t at = arguments;
  for (size_t i = 0; i < format.size() && out.size() < kPrintedBytesMax; ++i) {
    if (format[i] != '%') {
      out.push_back(format[i]);
      continue;
    }
    const size_t end = format.find_first_of("diuoxXfFeEgGaAcsp%", i + 1);
    if (end == std::string::npos || end - i > 32) break;
    const char kind = format[end];
    if (kind == '%') {
      out.push_back('%');
      i = end;
      continue;
    }
    std::string spec = "%";
    bool is_long = false;
    size_t digits = 0;
    for (size_t k = i + 1; k < end; ++k) {
      const char c = format[k];
      if (c == 'l' || c == 'j' || c == 'z' || c == 't')
        is_long = true;
      else if (c >= '0' && c <= '9' && ++digits <= kDigitsMax)
        spec.push_back(c);
      else if (std::strchr(".+- #", c) != nullptr && c != '\0')
        spec.push_back(c);
      if (c == '.') digits = 0;
    }
    spec.push_back(kind);
    const bool wide = is_long || std::strchr("fFeEgGaAsp", kind) != nullptr;
    if (wide) at = (at + 7) & ~uint64_t{7};
    uint64_t bits = 0;
    const std::string raw = bytes_at(warp, at, wide ? 8 : 4, lane);
    std::memcpy(&bits, raw.data(), raw.size());
    at += wide ? 8 : 4;
    out += kind == 's' ? string_at(warp, bits, lane) : format_one(spec, kind, bits, is_long);
    i = end;
  }
  return out;
}
bool printed_enough(const Launch& launch) {
  return launch.printed.size() >= kPrintedLinesMax || launch.printed_bytes >= kPrintedBytesMax;
}

void keep_printed(Launch& launch, const std::string& text) {
  for (const char c : text) {
    if (printed_enough(launch)) return;
    ++launch.printed_bytes;
    if (c != '\n') {
      launch.printed_tail.push_back(c);
      continue;
    }
    launch.printed.push_back(launch.printed_tail);
    launch.printed_tail.clear();
  }
}

bool silent(Launch& launch) {
  const std::lock_guard lock(launch.mutex);
  return printed_enough(launch);
}
}  // namespace

void print(Warp& warp, const CallSite& site) {
  if (silent(*warp.launch)) return;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((warp.mask >> lane & 1) == 0) continue;
    const std::string format = string_at(warp, argument(warp, site, 0, lane), lane);
    const std::string text = expand(warp, format, argument(warp, site, 1, lane), lane);
    const std::lock_guard lock(warp.launch->mutex);
    keep_printed(*warp.launch, text);
    if (printed_enough(*warp.launch)) return;
  }
}

void assert_failed(Warp& warp, const Ins& ins, const CallSite& site) {
  const auto lane = static_cast<uint32_t>(std::countr_zero(warp.mask));
  const std::string what = string_at(warp, argument(warp, site, 0, lane), lane);
  const std::string file = string_at(warp, argument(warp, site, 1, lane), lane);
  const auto line = static_cast<uint32_t>(argument(warp, site, 2, lane));
  report(warp, ins,
         {.kind = "assert",
          .message = fmt::format("{}:{}: assertion `{}' failed", file, line, what),
          .lane = lane,
          .count = static_cast<uint64_t>(std::popcount(warp.mask)),
          .fatal = true});
}

}  // namespace gpuemu::emulator::steps
