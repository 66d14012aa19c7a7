// Forces between bodies, which a block reads in tiles of shared memory.
#include "program.h"

constexpr int kTile = 64;

__global__ void accelerate(const float4* bodies, float3* forces, int n) {
  __shared__ float4 tile[kTile];
  int i = blockIdx.x * kTile + threadIdx.x;
  float4 mine = bodies[i];
  float3 force = {0, 0, 0};
  for (int first = 0; first < n; first += kTile) {
    tile[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < kTile; ++j) {
      float4 other = tile[j];  // fault
      float x = other.x - mine.x, y = other.y - mine.y, z = other.z - mine.z;
      float distance = rsqrtf(x * x + y * y + z * z + 0.01f);
      float strength = other.w * distance * distance * distance;
      force.x += x * strength;
      force.y += y * strength;
      force.z += z * strength;
    }
#ifndef FAULTY
    __syncthreads();
#endif
  }
  forces[i] = force;
}

int main() {
  const int n = 4 * kTile;
  std::vector<float4> bodies(n);
  for (int i = 0; i < n; ++i) bodies[i] = make_float4(i % 8, i / 8 % 8, i / 64, 1);
  std::vector<float3> forces(n);
  float4* dbodies;
  float3* dforces;
  CHECK(cudaMalloc(&dbodies, n * sizeof(float4)));
  CHECK(cudaMalloc(&dforces, n * sizeof(float3)));
  CHECK(cudaMemcpy(dbodies, bodies.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
  accelerate<<<n / kTile, kTile>>>(dbodies, dforces, n);
  CHECK(cudaMemcpy(forces.data(), dforces, n * sizeof(float3), cudaMemcpyDeviceToHost));
  // Corners that lie opposite are drawn in opposite directions.
  EXPECT(forces[0].x > 0 && std::fabs(forces[0].x + forces[n - 1].x) < 1e-3f);
  CHECK(cudaFree(dbodies));
  CHECK(cudaFree(dforces));
  return passed();
}
