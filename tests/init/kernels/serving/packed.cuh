// Sixteen bytes of elements at once.
#pragma once
#include <cassert>
#include <cstring>

template <class Element>
struct alignas(16) Packed {
  static constexpr const size_t size = sizeof(int4) / sizeof(Element);
  Element data[size];
  __device__ Element& operator[](int k) { return data[k]; }
};
typedef float floatX;
typedef Packed<floatX> x128;

template <class E>
__device__ Packed<E> load128(const E* from) {
  const int4 bits = *reinterpret_cast<const int4*>(from);
  Packed<E> out;
  memcpy(&out, &bits, sizeof(bits));
  return out;
}
template <class E>
__device__ void store128(E* to, Packed<E> values) {
  int4 bits;
  memcpy(&bits, &values, sizeof(bits));
  *reinterpret_cast<int4*>(to) = bits;
}
