#include "tests/fuzz/mutate_ptx.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace gpuemu {
namespace {

using Lines = std::vector<std::string>;

class Draw {
 public:
  explicit Draw(uint32_t seed) : state_(seed * uint64_t{0x9e3779b97f4a7c15} + 1) {}
  /// Below `limit`; 0 for 0.
  size_t below(size_t limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return limit == 0 ? 0 : static_cast<size_t>(state_ >> 11) % limit;
  }
  template <typename List>
  std::string of(const List& list) {
    return std::string(list[below(list.size())]);
  }

 private:
  uint64_t state_;
};

constexpr auto kNumbers = std::to_array<std::string_view>({"0",
                                                           "1",
                                                           "2",
                                                           "3",
                                                           "4",
                                                           "7",
                                                           "8",
                                                           "15",
                                                           "16",
                                                           "31",
                                                           "32",
                                                           "33",
                                                           "63",
                                                           "64",
                                                           "128",
                                                           "255",
                                                           "256",
                                                           "1024",
                                                           "4095",
                                                           "65535",
                                                           "65536",
                                                           "1048576",
                                                           "2147483647",
                                                           "2147483648",
                                                           "4294967295",
                                                           "4294967296",
                                                           "9223372036854775807",
                                                           "18446744073709551615",
                                                           "-1",
                                                           "-4",
                                                           "-8",
                                                           "-2147483648",
                                                           "-9223372036854775808",
                                                           "0x1000000000000000",
                                                           "0x3000000000000000",
                                                           "0f7FC00000",
                                                           "0f3F800000",
                                                           "0fFF800000",
                                                           "0d7FF0000000000000",
                                                           "0d3FF0000000000000"});

constexpr auto kModifiers = std::to_array<std::string_view>(
    {"b8",       "b16",      "b32",        "b64",          "u8",     "u16",     "u32",    "u64",
     "s8",       "s16",      "s32",        "s64",          "f16",    "f16x2",   "bf16",   "bf16x2",
     "f32",      "f64",      "pred",       "b128",         "tf32",   "e4m3x2",  "e5m2x2", "global",
     "shared",   "local",    "param",      "const",        "v2",     "v4",      "v8",     "rn",
     "rz",       "rm",       "rp",         "rni",          "rzi",    "ftz",     "sat",    "approx",
     "full",     "lo",       "hi",         "wide",         "sync",   "aligned", "uni",    "acquire",
     "release",  "relaxed",  "volatile",   "gpu",          "cta",    "sys",     "add",    "min",
     "max",      "and",      "or",         "xor",          "exch",   "cas",     "inc",    "dec",
     "eq",       "ne",       "lt",         "ltu",          "nan",    "num",     "up",     "down",
     "bfly",     "idx",      "all",        "any",          "ballot", "popc",    "red",    "arrive",
     "warp",     "cluster",  "x1",         "x2",           "x4",     "trans",   "row",    "col",
     "async",    "bulk",     "wait_group", "commit_group", "cc",     "wrap",    "clamp",  "m8n8",
     "m16n8k16", "m16n16k16"});

constexpr auto kSnippets =
    std::to_array<std::string_view>({"ret;",
                                     "exit;",
                                     "trap;",
                                     "bar.sync 0;",
                                     "bar.warp.sync -1;",
                                     "membar.gl;",
                                     "{",
                                     "}",
                                     ".reg .pred %pz;",
                                     ".reg .b32 %z<64>;",
                                     ".reg .b64 %w<9>;",
                                     ".reg .b16 %h<3>;",
                                     ".local .align 8 .b8 stack_z[64];",
                                     ".shared .align 4 .b8 shared_z[256];",
                                     "mov.u32 %z1, %tid.x;",
                                     "mov.u64 %w1, shared_z;",
                                     "cvta.shared.u64 %w2, %w1;",
                                     "mov.u64 %w1, stack_z;",
                                     "setp.lt.u32 %pz, %z1, 9;",
                                     "@%pz bra HERE_Z;",
                                     "HERE_Z:",
                                     "ld.shared.u32 %z2, [shared_z];",
                                     "st.shared.u32 [shared_z+4], %z1;",
                                     "ld.u32 %z3, [%w2];",
                                     "st.local.u64 [stack_z+8], %w1;",
                                     "@!%pz bra.uni HERE_Z;",
                                     "shfl.sync.bfly.b32 %z4, %z1, 1, 31, -1;",
                                     "vote.sync.ballot.b32 %z5, %pz, -1;",
                                     "atom.shared.add.u32 %z6, [shared_z], 1;",
                                     "red.global.add.u32 [%w3], 1;",
                                     "match.any.sync.b32 %z7, %z1, -1;",
                                     "activemask.b32 %z8;",
                                     "brkpt;",
                                     "nanosleep.u32 1;",
                                     "cp.async.commit_group;",
                                     "cp.async.wait_all;",
                                     "cp.async.ca.shared.global [shared_z], [%w3], 16;"});

Lines split(const std::string& text) {
  Lines lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1);
    lines.push_back(text.substr(at, end - at + 1));
    at = end + 1;
  }
  return lines;
}

std::string join(const Lines& lines, size_t bytes_max) {
  std::string text;
  for (const std::string& line : lines) {
    if (text.size() + line.size() > bytes_max) break;
    text += line;
  }
  return text;
}

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%';
}

struct Piece {
  size_t begin = 0, end = 0;
};

/// Words of a line, without the dots between them.
std::vector<Piece> words(const std::string& line) {
  std::vector<Piece> found;
  for (size_t at = 0; at < line.size(); ++at) {
    if (!is_word(line[at])) continue;
    const size_t begin = at;
    while (at < line.size() && is_word(line[at])) ++at;
    found.push_back({begin, at});
  }
  return found;
}

bool is_number(char c) { return c >= '0' && c <= '9'; }

/// Another word of the text of the same sort: a register for a register, a number for a number.
void change_word(Lines& lines, Draw& draw) {
  std::string& line = lines[draw.below(lines.size())];
  const std::vector<Piece> pieces = words(line);
  if (pieces.empty()) return;
  const Piece piece = pieces[draw.below(pieces.size())];
  const char first = line[piece.begin];
  const bool modifier = piece.begin > 0 && line[piece.begin - 1] == '.';
  std::string with;
  if (is_number(first)) {
    with = draw.of(kNumbers);
  } else if (modifier && draw.below(4) != 0) {
    with = draw.of(kModifiers);
  } else {
    const std::string& other = lines[draw.below(lines.size())];
    const std::vector<Piece> candidates = words(other);
    if (candidates.empty()) return;
    const Piece taken = candidates[draw.below(candidates.size())];
    with = other.substr(taken.begin, taken.end - taken.begin);
  }
  line.replace(piece.begin, piece.end - piece.begin, with);
}

void change_modifiers(Lines& lines, Draw& draw) {
  std::string& line = lines[draw.below(lines.size())];
  const size_t dot = line.find('.');
  if (dot == std::string::npos) return;
  if (draw.below(2) == 0) {
    line.insert(dot, "." + draw.of(kModifiers));
    return;
  }
  size_t end = dot + 1;
  while (end < line.size() && is_word(line[end])) ++end;
  line.erase(dot, end - dot);
}

void change_operands(Lines& lines, Draw& draw) {
  std::string& line = lines[draw.below(lines.size())];
  const size_t comma = line.find(',', draw.below(line.size()));
  if (comma == std::string::npos) return;
  const size_t end = std::min(line.find_first_of(",;]}", comma + 1), line.size());
  if (draw.below(2) == 0) {
    line.erase(comma, end - comma);
  } else {
    line.insert(end, line.substr(comma, end - comma));
  }
}

void change_lines(Lines& lines, Draw& draw) {
  const size_t at = draw.below(lines.size()), from = draw.below(lines.size());
  const auto place = lines.begin() + static_cast<std::ptrdiff_t>(at);
  switch (draw.below(5)) {
    case 0:
      if (lines.size() > 1) lines.erase(place);
      return;
    case 1:
      lines.insert(place, std::string(lines[from]));
      return;
    case 2:
      std::swap(lines[at], lines[from]);
      return;
    case 3:
      if (draw.below(4) == 0) {
        const size_t count = std::min(lines.size() - at, draw.below(12));
        if (count < lines.size()) lines.erase(place, place + static_cast<std::ptrdiff_t>(count));
      }
      return;
    default:
      lines.insert(place, draw.of(kSnippets) + "\n");
  }
}

void change_byte(Lines& lines, Draw& draw) {
  std::string& line = lines[draw.below(lines.size())];
  static constexpr std::string_view kBytes = "{}[]()<>,;:.@!%|+-*/\"\\_ 0x1f\n\t#";
  if (!line.empty()) line[draw.below(line.size())] = kBytes[draw.below(kBytes.size())];
}

}  // namespace

std::string mutate_ptx(const std::string& text, uint32_t seed, size_t bytes_max) {
  Draw draw(seed);
  Lines lines = split(text);
  if (lines.empty()) lines.emplace_back(".version 8.0\n.target sm_80\n");
  for (size_t changes = 1 + draw.below(4); changes > 0; --changes) {
    const size_t kind = draw.below(16);
    if (kind < 7) {
      change_word(lines, draw);
    } else if (kind < 9) {
      change_modifiers(lines, draw);
    } else if (kind < 11) {
      change_operands(lines, draw);
    } else if (kind < 15) {
      change_lines(lines, draw);
    } else {
      change_byte(lines, draw);
    }
  }
  return join(lines, bytes_max);
}

std::string cross_ptx(const std::string& text, const std::string& other, uint32_t seed,
                      size_t bytes_max) {
  Draw draw(seed);
  Lines lines = split(text), from = split(other);
  if (lines.empty() || from.empty()) return text;
  const auto begin = static_cast<std::ptrdiff_t>(draw.below(from.size()));
  const auto count = static_cast<std::ptrdiff_t>(
      std::min(1 + draw.below(8), from.size() - static_cast<size_t>(begin)));
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(draw.below(lines.size())),
               from.begin() + begin, from.begin() + begin + count);
  return join(lines, bytes_max);
}

}  // namespace gpuemu
