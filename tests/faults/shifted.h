// What a kernel uses from a header of its project.
#pragma once

template <int Step>
struct Shifted {
  const float* from;
  __device__ float at(int i) const {
    return from[i + Step];  // FAULT
  }
};
