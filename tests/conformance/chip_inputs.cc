#include "tests/conformance/chip_inputs.h"

namespace gpuemu::chip {
namespace {

constexpr uint64_t kDrawn = 1 << 13;

const std::vector<uint64_t> kEdges16 = {
    0x0,    0x1,    0x2,    0x7f,   0x80,   0x81,   0xff,   0x100,  0x3ff,  0x400,  0x401,
    0x7ff,  0x1000, 0x3800, 0x3bff, 0x3c00, 0x3c01, 0x3f7f, 0x3f80, 0x3f81, 0x4000, 0x4200,
    0x5bff, 0x5f00, 0x63ff, 0x7780, 0x7800, 0x7bfe, 0x7bff, 0x7c00, 0x7c01, 0x7d00, 0x7e00,
    0x7e01, 0x7f00, 0x7f7f, 0x7f80, 0x7f81, 0x7fa0, 0x7fc0, 0x7fff,
};
const std::vector<uint64_t> kEdges32 = {
    0x0,        0x1,        0x2,        0x1fff,     0x2000,     0x200000,   0x400000,   0x7fffff,
    0x800000,   0x800001,   0xffffff,   0x1000000,  0xb800000,  0x33000000, 0x33000001, 0x337fffff,
    0x33800000, 0x387fc000, 0x387fe000, 0x387ff000, 0x387fffff, 0x38800000, 0x38801000, 0x3f000000,
    0x3f7fffff, 0x3f800000, 0x3f800001, 0x3f801000, 0x3f803000, 0x3f808000, 0x3f818000, 0x40000000,
    0x40490fdb, 0x43e00000, 0x43e80000, 0x43f00000, 0x47600000, 0x47680000, 0x47700000, 0x477fdfff,
    0x477fe000, 0x477fefff, 0x477ff000, 0x477fffff, 0x47800000, 0x4b000000, 0x4b800000, 0x4effffff,
    0x4f000000, 0x4f800000, 0x5f000000, 0x5f800000, 0x7e7fffff, 0x7e800000, 0x7e800001, 0x7effffff,
    0x7f000000, 0x7f7f0000, 0x7f7f7fff, 0x7f7f8000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fa00000,
    0x7fc00000, 0x7fc00001, 0x7fffffff,
};
const std::vector<uint64_t> kEdges64 = {
    0x0,
    0x1,
    0xfffffffffffff,
    0x10000000000000,
    0x10000000000001,
    0x36a0000000000000,
    0x36a0000000000001,
    0x380fffffc0000000,
    0x380fffffffffffff,
    0x3810000000000000,
    0x3e50000000000000,
    0x3ff0000000000000,
    0x3ff0000000000001,
    0x3ff0000010000000,
    0x3ff0000030000000,
    0x4000000000000000,
    0x40dfffffffc00000,
    0x41dfffffffc00000,
    0x41e0000000000000,
    0x43e0000000000000,
    0x43f0000000000000,
    0x47efffffe0000000,
    0x47efffffefffffff,
    0x47effffff0000000,
    0x47f0000000000000,
    0x7fd0000000000000,
    0x7fdfffffffffffff,
    0x7fe0000000000000,
    0x7fefffffffffffff,
    0x7ff0000000000000,
    0x7ff0000000000001,
    0x7ff4000000000000,
    0x7ff8000000000000,
    0x7ff8000000000001,
    0x7ff8000123456789,
    0x7fffffffffffffff,
    0x7fffffff00000000,
};

/// Each with both signs.
std::vector<uint64_t> signed_edges(const std::vector<uint64_t>& edges, int bits) {
  std::vector<uint64_t> out;
  for (const uint64_t edge : edges) {
    for (const uint64_t sign : {uint64_t{0}, uint64_t{1} << (bits - 1)}) {
      out.push_back(edge | sign);
    }
  }
  return out;
}
uint64_t draw(uint64_t number, uint64_t stream) { return mix(number + (stream << 40)); }

/// Exponents near that of 1.
uint64_t near32(uint64_t x) { return (x & 0x80ffffff) | ((x >> 26 & 15) + 0x38) << 24; }
uint64_t near64(uint64_t x) { return (x & 0x800fffffffffffff) | ((x >> 56 & 15) + 0x3f8) << 52; }

Operands edges_with_each_other(const std::vector<uint64_t>& edges) {
  Operands out;
  for (const uint64_t a : edges) {
    for (const uint64_t b : edges) {
      out.a.push_back(a);
      out.b.push_back(b);
    }
  }
  return out;
}

Operands pairs16() {
  const std::vector<uint64_t> edges = signed_edges(kEdges16, 16);
  Operands out = edges_with_each_other(edges);
  for (uint64_t i = 0; i < kDrawn; ++i) {
    const uint64_t r = draw(i, 1);
    out.a.push_back(r & 0xffff);
    out.b.push_back(r >> 16 & 0xffff);
  }
  for (uint64_t i = 0; i < out.a.size(); ++i) {
    const uint64_t r = draw(i, 2);
    out.c.push_back((r >> 20 & 1) != 0 ? edges[r % edges.size()] : r >> 40 & 0xffff);
  }
  return out;
}
Operands pairs32() {
  const std::vector<uint64_t> edges = signed_edges(kEdges32, 32);
  Operands out = edges_with_each_other(edges);
  for (uint64_t i = 0; i < kDrawn; ++i) {
    const uint64_t r = draw(i, 3), low = r & 0xffffffff, high = r >> 32;
    out.a.push_back((i & 1) != 0 ? near32(low) : low);
    out.b.push_back((i & 1) != 0 ? near32(high) : high);
  }
  for (uint64_t i = 0; i < out.a.size(); ++i) {
    const uint64_t r = draw(i, 4);
    out.c.push_back((r & 1) != 0 ? edges[(r >> 8) % edges.size()] : near32(r >> 32));
  }
  return out;
}
Operands pairs64() {
  const std::vector<uint64_t> edges = signed_edges(kEdges64, 64);
  Operands out = edges_with_each_other(edges);
  for (uint64_t i = 0; i < kDrawn; ++i) {
    const uint64_t r = draw(i, 5), q = draw(i, 6);
    out.a.push_back((i & 1) != 0 ? near64(r) : r);
    out.b.push_back((i & 1) != 0 ? near64(q) : q);
  }
  for (uint64_t i = 0; i < out.a.size(); ++i) {
    const uint64_t r = draw(i, 7);
    out.c.push_back((r & 1) != 0 ? edges[(r >> 8) % edges.size()] : near64(r));
  }
  return out;
}

/// Element i in the low half, element i - 7 in the high one.
std::vector<uint64_t> packed(const std::vector<uint64_t>& from) {
  std::vector<uint64_t> out(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    out[i] = from[i] | from[(i + from.size() - 7) % from.size()] << 16;
  }
  return out;
}

Operands all16(bool both) {
  Operands out;
  for (uint64_t i = 0; i < 65536; ++i) {
    out.a.push_back(both ? i | (mix(i) >> 13 & 0xffff) << 16 : i);
    out.b.push_back(both ? out.a.back() : 65535 - i);
  }
  out.c = out.a;
  return out;
}
}  // namespace

uint64_t mix(uint64_t z) {
  z ^= z >> 30;
  z *= 0xbf58476d1ce4e5b9;
  z ^= z >> 27;
  z *= 0x94d049bb133111eb;
  return z ^ z >> 31;
}

uint64_t checksum(const std::vector<uint64_t>& results) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < results.size(); ++i) {
    sum += mix((i << 32) ^ results[i] * 0x9e3779b97f4a7c15);
  }
  return sum;
}

Operands operands_of(const std::string& kind) {
  if (kind == "all16") return all16(false);
  if (kind == "all16x2") return all16(true);
  if (kind == "pair16") return pairs16();
  if (kind == "pair32") return pairs32();
  if (kind == "pair64") return pairs64();
  const Operands single = pairs16();
  return {packed(single.a), packed(single.b), packed(single.c)};
}

}  // namespace gpuemu::chip
