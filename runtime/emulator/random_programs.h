// Random programs over every type, with guards, branches and all access patterns. Tests use them to
// compare two ways of executing code.
#pragma once

#include <random>
#include <string>
#include <tuple>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {

inline constexpr uint32_t kThreads = 64, kWords = 16, kLongs = 8, kPredicates = 6;

/// Upper-case R, F, D, G, P: a register that is written; lower case: one that is read. A, B, C: a
/// global address, with lanes 4, 8 or 16 bytes apart. S, T, U: the same in shared memory. O: an
/// offset that all of them allow. J: all lanes. K: all lanes of the first warp, one half of the
/// others.
inline const char* const kTemplates[] = {"add.s32 R, r, r;",
                                         "add.u32 R, r, r;",
                                         "sub.s32 R, r, r;",
                                         "sub.u32 R, r, 7;",
                                         "mul.lo.s32 R, r, r;",
                                         "mul.lo.u32 R, r, r;",
                                         "mad.lo.s32 R, r, r, r;",
                                         "mad.lo.u32 R, r, 3, r;",
                                         "mul.wide.s32 D, r, r;",
                                         "mul.wide.u32 D, r, r;",
                                         "mad.wide.s32 D, r, r, d;",
                                         "mad.wide.u32 D, r, 4, d;",
                                         "mul.hi.u32 R, r, r;",
                                         "min.s32 R, r, r;",
                                         "max.s32 R, r, r;",
                                         "min.u32 R, r, r;",
                                         "max.u32 R, r, r;",
                                         "neg.s32 R, r;",
                                         "abs.s32 R, r;",
                                         "div.u32 R, r, 9;",
                                         "rem.s32 R, r, 5;",
                                         "and.b32 R, r, r;",
                                         "or.b32 R, r, r;",
                                         "xor.b32 R, r, r;",
                                         "not.b32 R, r;",
                                         "shl.b32 R, r, r;",
                                         "shl.b32 R, r, 5;",
                                         "shr.u32 R, r, r;",
                                         "shr.s32 R, r, r;",
                                         "shr.b32 R, r, 31;",
                                         "lop3.b32 R, r, r, r, 0x96;",
                                         "lop3.b32 R, r, r, r, 0x29;",
                                         "prmt.b32 R, r, r, 0x5410;",
                                         "bfe.u32 R, r, 3, 9;",
                                         "popc.b32 R, r;",
                                         "add.s64 D, d, d;",
                                         "add.u64 D, d, 12;",
                                         "sub.s64 D, d, d;",
                                         "sub.u64 D, d, d;",
                                         "mul.lo.s64 D, d, d;",
                                         "mul.lo.u64 D, d, d;",
                                         "mad.lo.s64 D, d, d, d;",
                                         "mad.lo.u64 D, d, d, d;",
                                         "min.s64 D, d, d;",
                                         "max.s64 D, d, d;",
                                         "min.u64 D, d, d;",
                                         "max.u64 D, d, d;",
                                         "neg.s64 D, d;",
                                         "and.b64 D, d, d;",
                                         "or.b64 D, d, d;",
                                         "xor.b64 D, d, d;",
                                         "not.b64 D, d;",
                                         "shl.b64 D, d, r;",
                                         "shr.u64 D, d, r;",
                                         "shr.s64 D, d, r;",
                                         "shr.b64 D, d, 33;",
                                         "mov.b32 R, r;",
                                         "mov.b64 D, d;",
                                         "mov.b32 R, f;",
                                         "mov.b32 F, r;",
                                         "mov.f32 F, f;",
                                         "mov.b64 G, d;",
                                         "mov.b64 D, g;",
                                         "mov.b64 D, {r, r};",
                                         "mov.b64 {R, R}, d;",
                                         "cvt.u64.u32 D, r;",
                                         "cvt.s64.s32 D, r;",
                                         "cvt.u32.u64 R, d;",
                                         "cvt.s32.s64 R, d;",
                                         "cvt.u32.s64 R, d;",
                                         "cvt.rn.f32.s32 F, r;",
                                         "cvt.rn.f32.u32 F, r;",
                                         "cvt.rzi.s32.f32 R, f;",
                                         "cvt.sat.f32.f32 F, f;",
                                         "add.f32 F, f, f;",
                                         "sub.f32 F, f, f;",
                                         "mul.f32 F, f, f;",
                                         "fma.rn.f32 F, f, f, f;",
                                         "add.rz.f32 F, f, f;",
                                         "sub.rp.f32 F, f, f;",
                                         "mul.rm.f32 F, f, f;",
                                         "fma.rm.f32 F, f, f, f;",
                                         "fma.rp.f32 F, f, f, f;",
                                         "fma.rz.f32 F, f, f, f;",
                                         "div.rn.f32 F, f, f;",
                                         "div.rz.f32 F, f, f;",
                                         "rcp.rn.f32 F, f;",
                                         "rcp.rp.f32 F, f;",
                                         "sqrt.rn.f32 F, f;",
                                         "sqrt.rm.f32 F, f;",
                                         "neg.f32 F, f;",
                                         "abs.f32 F, f;",
                                         "min.f32 F, f, f;",
                                         "max.f32 F, f, f;",
                                         "add.ftz.f32 F, f, f;",
                                         "ex2.approx.f32 F, f;",
                                         "rcp.approx.ftz.f32 F, f;",
                                         "add.f64 G, g, g;",
                                         "mul.f64 G, g, g;",
                                         "sub.f64 G, g, g;",
                                         "fma.rn.f64 G, g, g, g;",
                                         "neg.f64 G, g;",
                                         "cvt.u16.u32 H, r;",
                                         "cvt.u32.u16 R, h;",
                                         "cvt.s32.s16 R, h;",
                                         "cvt.u16.u16 H, h;",
                                         "cvt.u32.u8 R, h;",
                                         "cvt.s32.s8 R, h;",
                                         "cvt.u8.u32 H, r;",
                                         "cvt.s8.s32 H, r;",
                                         "cvt.s16.s8 H, h;",
                                         "cvt.s16.s32 H, r;",
                                         "mov.b16 H, h;",
                                         "and.b16 H, h, h;",
                                         "or.b16 H, h, h;",
                                         "xor.b16 H, h, h;",
                                         "not.b16 H, h;",
                                         "shl.b16 H, h, r;",
                                         "add.s16 H, h, h;",
                                         "add.u16 H, h, h;",
                                         "sub.u16 H, h, h;",
                                         "mul.lo.u16 H, h, h;",
                                         "setp.eq.s16 P, h, h;",
                                         "setp.ne.b16 P, h, 0;",
                                         "setp.eq.b16 P, h, h;",
                                         "selp.b16 H, h, h, p;",
                                         "cvt.f32.f16 F, h;",
                                         "cvt.rn.f16.f32 H, f;",
                                         "cvt.f32.bf16 F, h;",
                                         "cvt.rn.bf16.f32 H, f;",
                                         "prmt.b32 R, r, r, 0x7632;",
                                         "prmt.b32 R, r, r, 0x3210;",
                                         "prmt.b32 R, r, r, 0x9180;",
                                         "prmt.b32 R, r, r, r;",
                                         "div.rn.f64 G, g, g;",
                                         "abs.f64 G, g;",
                                         "cvt.f64.f32 G, f;",
                                         "cvt.rn.f64.s32 G, r;",
                                         "cvt.rn.f64.u32 G, r;",
                                         "ld.global.u16 H, [X+O];",
                                         "ld.global.s16 R, [X+O];",
                                         "st.global.u16 [X+O], h;",
                                         "ld.shared.u16 H, [Y+O];",
                                         "st.shared.b16 [Y+O], h;",
                                         "ld.global.u8 R, [X+O];",
                                         "ld.global.s8 R, [Z+O];",
                                         "st.global.u8 [Z+O], r;",
                                         "ld.shared.u8 R, [W+O];",
                                         "ld.shared.s8 R, [W+O];",
                                         "st.shared.u8 [W+O], r;",
                                         "setp.eq.s32 P, r, r;",
                                         "setp.ne.u32 P, r, r;",
                                         "setp.lt.s32 P, r, r;",
                                         "setp.le.u32 P, r, r;",
                                         "setp.gt.s32 P, r, r;",
                                         "setp.ge.u32 P, r, r;",
                                         "setp.lo.u32 P, r, r;",
                                         "setp.eq.b32 P, r, r;",
                                         "setp.eq.s64 P, d, d;",
                                         "setp.ne.u64 P, d, d;",
                                         "setp.lt.s64 P, d, d;",
                                         "setp.le.u64 P, d, d;",
                                         "setp.gt.s64 P, d, d;",
                                         "setp.ge.u64 P, d, d;",
                                         "setp.eq.f32 P, f, f;",
                                         "setp.ne.f32 P, f, f;",
                                         "setp.lt.f32 P, f, f;",
                                         "setp.le.f32 P, f, f;",
                                         "setp.gt.f32 P, f, f;",
                                         "setp.ge.f32 P, f, f;",
                                         "setp.equ.f32 P, f, f;",
                                         "setp.neu.f32 P, f, f;",
                                         "setp.ltu.f32 P, f, f;",
                                         "setp.leu.f32 P, f, f;",
                                         "setp.gtu.f32 P, f, f;",
                                         "setp.geu.f32 P, f, f;",
                                         "setp.num.f32 P, f, f;",
                                         "setp.nan.f32 P, f, f;",
                                         "setp.lt.f64 P, g, g;",
                                         "setp.nan.f64 P, g, g;",
                                         "setp.lt.and.s32 P, r, r, p;",
                                         "selp.b32 R, r, r, p;",
                                         "selp.f32 F, f, f, p;",
                                         "selp.b64 D, d, d, p;",
                                         "selp.u32 R, 1, 0, p;",
                                         "shfl.sync.bfly.b32 R, r, 5, 31, -1;",
                                         "shfl.sync.bfly.b32 R|P, r, r, 31, -1;",
                                         "shfl.sync.idx.b32 R|P, r, r, 31, -1;",
                                         "shfl.sync.down.b32 R|P, r, 3, 31, -1;",
                                         "shfl.sync.down.b32 R, r, r, 31, -1;",
                                         "shfl.sync.up.b32 R|P, r, 7, 0, -1;",
                                         "shfl.sync.up.b32 R, r, r, 0, -1;",
                                         "shfl.sync.down.b32 R|P, r, 3, 7199, -1;",
                                         "shfl.sync.bfly.b32 R|P, r, 1, 31, J;",
                                         "shfl.sync.down.b32 R, r, r, 31, J;",
                                         "shfl.sync.down.b32 R|P, r, 2, 31, K;",
                                         "shfl.sync.idx.b32 R, r, 3, 31, K;",
                                         "and.pred P, p, p;",
                                         "or.pred P, p, p;",
                                         "xor.pred P, p, p;",
                                         "not.pred P, p;",
                                         "mov.pred P, p;",
                                         "ld.global.u32 R, [A+O];",
                                         "ld.global.f32 F, [A+O];",
                                         "ld.global.b64 D, [B+O];",
                                         "ld.b32 R, [A+O];",
                                         "ld.global.v2.u32 {R, R}, [B+O];",
                                         "ld.global.u16 R, [A+O];",
                                         "ld.global.v4.u32 {R, R, R, R}, [C+O];",
                                         "ld.global.v4.f32 {F, F, F, F}, [C+O];",
                                         "ld.global.v2.b64 {D, D}, [C+O];",
                                         "st.global.v4.b32 [C+O], {r, r, r, r};",
                                         "st.global.v2.b64 [C+O], {d, d};",
                                         "st.global.u32 [A+O], r;",
                                         "st.global.f32 [A+O], f;",
                                         "st.global.b64 [B+O], d;",
                                         "st.b32 [A+O], r;",
                                         "st.global.v2.f32 [B+O], {f, f};",
                                         "ld.shared.u32 R, [S+O];",
                                         "ld.shared.f32 F, [S+O];",
                                         "ld.shared.b64 D, [T+O];",
                                         "st.shared.u32 [S+O], r;",
                                         "st.shared.f32 [S+O], f;",
                                         "st.shared.b64 [T+O], d;",
                                         "ld.shared.v2.b32 {R, R}, [T+O];",
                                         "ld.shared.v4.f32 {F, F, F, F}, [U+O];",
                                         "st.shared.v4.f32 [U+O], {f, f, f, f};",
                                         "st.shared.v2.u32 [T+O], {r, r};",
                                         "ld.shared.v2.b64 {D, D}, [U+O];"};

/// Access patterns: the place of lane %l, in units of 4 bytes or more. Consecutive, one place,
/// reversed, strided, crosswise, in pairs, one row per half of the warp.
inline const char* const kPlaces[] = {"mov.b32 %o, %l;",
                                      "mov.b32 %o, 5;",
                                      "sub.u32 %o, 31, %l;",
                                      "mul.lo.u32 %o, %l, 5; and.b32 %o, %o, 31;",
                                      "xor.b32 %o, %l, 1;",
                                      "shr.u32 %o, %l, 1;",
                                      "shr.u32 %o, %l, 4; shl.b32 %o, %o, 3; sub.u32 %o, %l, %o;"};
inline constexpr uint32_t kPlacesCount = std::size(kPlaces);

class RandomPrograms {
 public:
  explicit RandomPrograms(uint32_t seed) : random_(seed) {}

  std::string write(uint32_t length) {
    std::string body;
    uint32_t label = 0, skipping = 0;
    for (uint32_t i = 0; i < length; ++i) {
      if (skipping == 0 && below(9) == 0) {
        body += guard() + " bra L" + std::to_string(label) + ";\n";
        skipping = 1 + below(4);
      }
      if (below(5) == 0) body += guard();
      body += " " + instruction() + "\n";
      if (skipping != 0 && --skipping == 0) body += "L" + std::to_string(label++) + ":\n";
    }
    if (skipping != 0) body += "L" + std::to_string(label) + ":\n";
    return whole(body);
  }
  /// Writes a program with every instruction once.
  std::string write_all() {
    std::string body;
    for (const char* from : kTemplates) body += " " + instruction(from) + "\n";
    return whole(body);
  }

 private:
  static constexpr const char* kBegin =
      ".visible .entry k(.param .u64 out, .param .u64 in, .param .u64 place) {\n"
      " .reg .pred %p<6>; .reg .b32 %r<16>, %l, %w, %o, %t, %all, %some; .reg .f32 %f<16>;\n"
      " .reg .b64 %d<8>, %a<7>, %b<7>, %c<7>, %x, %y; .reg .f64 %g<8>; .reg .b32 %s<7>, %e<7>, "
      "%h<7>, %v<7>, %n<7>; .reg .b64 %u<7>, %m<7>; .reg .b16 %q<8>;\n .shared .align 16 .b8 "
      "tile[4096];\n"
      " mov.u32 %t, %tid.x; and.b32 %l, %t, 31; shr.u32 %w, %t, 5;\n"
      " or.b32 %all, %t, -1; and.b32 %o, %l, 16; shl.b32 %some, 65535, %o;\n"
      " setp.eq.u32 %p0, %w, 0; selp.b32 %some, -1, %some, %p0;\n";

  std::string begin() {
    std::string text =
        " ld.param.u64 %x, [place]; mul.wide.u32 %y, %w, 2048; add.u64 %x, %x, %y;\n";
    for (const auto& [unit, global, shared] :
         {std::tuple("1", "%m", "%n"), std::tuple("2", "%u", "%v"), std::tuple("4", "%a", "%s"),
          std::tuple("8", "%b", "%e"), std::tuple("16", "%c", "%h")}) {
      for (uint32_t i = 0; i < kPlacesCount; ++i) {
        const std::string to = global + std::to_string(i), in = shared + std::to_string(i);
        text.append(" ").append(kPlaces[i]).append(" mul.lo.u32 %o, %o, ").append(unit);
        text += "; cvt.u64.u32 %y, %o; add.u64 " + to + ", %x, %y; mad.lo.u32 " + in;
        text += ", %w, 2048, %o; mov.u32 %o, tile; add.u32 " + in + ", " + in + ", %o;\n";
      }
    }
    for (uint32_t at = 0; at < 2048; at += 512) {
      for (uint32_t more = 0; more < 16; more += 4) {
        text += " st.shared.b32 [%h0+" + std::to_string(at + more) + "], %t;";
      }
    }
    text += "\n ld.param.u64 %x, [in]; mul.wide.u32 %y, %t, 8; add.u64 %x, %x, %y;\n";
    each_register([&](const std::string& type, const std::string& name, uint32_t at) {
      text += " ld.global." + type + " " + name + ", [%x+" + std::to_string(at) + "];\n";
    });
    for (uint32_t i = 0; i < kPredicates; ++i) {
      text += " setp.lt.s32 %p" + std::to_string(i) + (i < 2 ? ", %w, " : ", %r9, ") +
              (i == 0   ? "5;\n"
               : i == 1 ? "1;\n"
                        : "%r2;\n");
    }
    return text;
  }

  static std::string end() {
    std::string text = " ld.param.u64 %x, [out]; mul.wide.u32 %y, %t, 8; add.u64 %x, %x, %y;\n";
    uint32_t at =
        each_register([&](const std::string& type, const std::string& name, uint32_t place) {
          text += " st.global." + type + " [%x+" + std::to_string(place) + "], " + name + ";\n";
        });
    for (uint32_t i = 0; i < kPredicates; ++i, at += kThreads * 8) {
      text += " selp.b32 %o, 1, 2, %p" + std::to_string(i) + "; st.global.b32 [%x+" +
              std::to_string(at) + "], %o;\n";
    }
    return text;
  }

  /// Returns a guard. Two of the six predicates start with the same value in all lanes of a warp.
  std::string guard() {
    return (below(2) == 0 ? " @%p" : " @!%p") + std::to_string(below(kPredicates));
  }

  /// Calls `visit(type, name, place)` for each register that programs load at the start and store
  /// at the end, in slots of eight bytes per thread. Returns the place after the last one.
  template <typename Visit>
  static uint32_t each_register(const Visit& visit) {
    uint32_t at = 0;
    for (const auto& [type, name, count] :
         {std::tuple("b32", "%r", kWords), std::tuple("f32", "%f", kWords),
          std::tuple("b64", "%d", kLongs), std::tuple("f64", "%g", kLongs),
          std::tuple("b16", "%q", kLongs)}) {
      for (uint32_t i = 0; i < count; ++i, at += kThreads * 8) {
        visit(type, name + std::to_string(i), at);
      }
    }
    return at;
  }

  std::string whole(const std::string& body) {
    return with_header(std::string(kBegin) + begin() + body + end() + " ret;\n}\n");
  }

  std::string instruction() { return instruction(kTemplates[below(std::size(kTemplates))]); }

  std::string instruction(const std::string& from) {
    const size_t operands = from.find(' ');
    std::string text = from.substr(0, operands);
    for (const char c : from.substr(operands)) text += operand(c);
    return text;
  }

  std::string operand(char c) {
    const auto numbered = [&](const char* name, uint32_t count) {
      return name + std::to_string(below(count));
    };
    switch (c) {
      case 'R':
      case 'r':
        return numbered("%r", kWords);
      case 'F':
      case 'f':
        return numbered("%f", kWords);
      case 'D':
      case 'd':
        return numbered("%d", kLongs);
      case 'G':
      case 'g':
        return numbered("%g", kLongs);
      case 'H':
      case 'h':
        return numbered("%q", kLongs);
      case 'P':
      case 'p':
        return numbered("%p", kPredicates);
      case 'J':
        return "%all";
      case 'K':
        return "%some";
      case 'A':
        return numbered("%a", kPlacesCount);
      case 'B':
        return numbered("%b", kPlacesCount);
      case 'C':
        return numbered("%c", kPlacesCount);
      case 'X':
        return numbered("%u", kPlacesCount);
      case 'Y':
        return numbered("%v", kPlacesCount);
      case 'Z':
        return numbered("%m", kPlacesCount);
      case 'W':
        return numbered("%n", kPlacesCount);
      case 'S':
        return numbered("%s", kPlacesCount);
      case 'T':
        return numbered("%e", kPlacesCount);
      case 'U':
        return numbered("%h", kPlacesCount);
      case 'O':
        return std::to_string(256 * below(3));
      default:
        return {c};
    }
  }

  uint32_t below(size_t count) { return static_cast<uint32_t>(random_() % count); }

  std::mt19937 random_;
};

}  // namespace gpuemu::emulator
