// What the programs in this folder share. FAULTY builds the twin of a program that has one mistake,
// at the line with the comment "fault".
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void check(cudaError_t code, const char* what, int line) {
  if (code == cudaSuccess) return;
  std::printf("line %d: %s gives %s (%s)\n", line, what, cudaGetErrorName(code),
              cudaGetErrorString(code));
  std::exit(1);
}
#define CHECK(call) check(call, #call, __LINE__)

inline void expect(bool holds, const char* what, int line) {
  if (holds) return;
  std::printf("line %d: not so: %s\n", line, what);
  std::exit(1);
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

inline int passed() {
  std::printf("passed\n");
  return 0;
}
