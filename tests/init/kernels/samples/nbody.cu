#include <cuda_runtime.h>
struct SimParams { float softening2; float dt; int bodies; };
__global__ void integrate(float4* pos, float4* vel, const float4* forces, SimParams params) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= params.bodies) return;
  float4 p = pos[i], v = vel[i], f = forces[i];
  v.x += f.x * params.dt; v.y += f.y * params.dt; v.z += f.z * params.dt;
  p.x += v.x * params.dt; p.y += v.y * params.dt; p.z += v.z * params.dt;
  pos[i] = p;
  vel[i] = v;
}
