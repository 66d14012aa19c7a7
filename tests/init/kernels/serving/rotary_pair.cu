// Query and key at once, each with a stride of its own; only the first rot_dim elements of a head turn.
__device__ void turn_heads(float* rows, const float* cosines, const float* sines, int heads, int head_size, int half) {
  for (int i = threadIdx.x; i < heads * half; i += blockDim.x) {
    float* head = rows + i / half * head_size;
    const int at = i % half;
    const float x = head[at], y = head[at + half];
    head[at] = x * cosines[at] - y * sines[at];
    head[at + half] = y * cosines[at] + x * sines[at];
  }
}
__global__ void rotary_pair_kernel(const long long* __restrict__ positions, float* query, float* key, const float* __restrict__ cache, int rot_dim,
                                   int query_stride, int key_stride, int num_heads, int num_kv_heads, int head_size) {
  const int half = rot_dim / 2;
  const float* cosines = cache + positions[blockIdx.x] * rot_dim;
  turn_heads(query + blockIdx.x * query_stride, cosines, cosines + half, num_heads, head_size, half);
  turn_heads(key + blockIdx.x * key_stride, cosines, cosines + half, num_kv_heads, head_size, half);
}
void rotary_pair(const long long* positions, float* query, float* key, const float* cache, int num_tokens, int rot_dim, int num_heads, int num_kv_heads,
                 int head_size) {
  rotary_pair_kernel<<<num_tokens, 128>>>(positions, query, key, cache, rot_dim, num_heads * head_size, num_kv_heads * head_size, num_heads,
                                          num_kv_heads, head_size);
}
