// Gradients of y = softmax(scale * q k^T) v for each of `batch` matrices, as attention.cu has them.
// attention_bwd_rows leaves three numbers of each query in `rows`: the largest score, 1 over the
// sum of the exponentials, and the sum of what reaches the weights. Of these the other two make the
// weights p and the gradients of the scores, ds, again: attention_bwd_q one block per query,
// attention_bwd_kv one per key. No atomics: sums are in a fixed order. Blocks of up to 128 threads,
// any one-dimensional grid.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

constexpr int kThreadsMax = 128;
constexpr int kNumbers = 3;  ///< Kept for each query, in `rows`.

template <typename T>
struct AttentionBackward {
  using C = Compute<T>;
  const T* q;
  const T* k;
  const T* v;
  const T* dy;
  C* rows;
  int batch, queries, keys, dim, v_dim;
  bool causal;
  C scale;

  __device__ __forceinline__ int visible(int query) const {
    return causal ? min(keys, query + 1) : keys;
  }
  /// `query` and `key` count over the whole batch.
  __device__ __forceinline__ C score(long long query, long long key) const {
    return scale * dot(q + query * dim, k + key * dim, dim);
  }
  /// The gradient of the weight that a query has for a key.
  __device__ __forceinline__ C up(long long query, long long key) const {
    return dot(dy + query * v_dim, v + key * v_dim, v_dim);
  }
  __device__ __forceinline__ C weight(long long query, long long key) const {
    const C* row = rows + query * kNumbers;
    return exp(score(query, key) - row[0]) * row[1];
  }
  /// The gradient of a score whose weight is p, times the scale.
  __device__ __forceinline__ C of_score(long long query, long long key, C p) const {
    return p * (up(query, key) - rows[query * kNumbers + 2]) * scale;
  }
  static __device__ __forceinline__ C dot(const T* a, const T* b, int count) {
    C sum = 0;
    for (int i = 0; i < count; ++i) sum += widen(a[i]) * widen(b[i]);
    return sum;
  }
};

template <typename T>
__device__ void attention_bwd_rows_body(const AttentionBackward<T>& a) {
  using C = Compute<T>;
  __shared__ C partial[32];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const long long all = static_cast<long long>(a.batch) * a.queries;
  for (long long at = blockIdx.x; at < all; at += gridDim.x) {
    const long long first_key = at / a.queries * a.keys;
    const int visible = a.visible(static_cast<int>(at % a.queries));
    C most = Max::identity<C>();
    for (int j = thread; j < visible; j += threads) {
      most = Max::apply(most, a.score(at, first_key + j));
    }
    most = reduce_block<Max>(most, partial);
    C total = 0, reached = 0;
    for (int j = thread; j < visible; j += threads) {
      const C e = exp(a.score(at, first_key + j) - most);
      total += e;
      reached += e * a.up(at, first_key + j);
    }
    total = reduce_block<Sum>(total, partial);
    reached = reduce_block<Sum>(reached, partial);
    if (thread == 0) {
      C* row = a.rows + at * kNumbers;
      row[0] = most;
      row[1] = C(1) / total;
      row[2] = reached / total;
    }
  }
}

template <typename T>
__device__ void attention_bwd_q_body(const AttentionBackward<T>& a, T* dq) {
  using C = Compute<T>;
  __shared__ C changes[kThreadsMax];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const long long all = static_cast<long long>(a.batch) * a.queries;
  for (long long at = blockIdx.x; at < all; at += gridDim.x) {
    const long long first_key = at / a.queries * a.keys;
    const int visible = a.visible(static_cast<int>(at % a.queries));
    for (int col = thread; col - thread < a.dim; col += threads) {
      C sum = 0;
      for (int first = 0; first < visible; first += threads) {
        const int count = min(threads, visible - first);
        if (thread < count) {
          const long long key = first_key + first + thread;
          changes[thread] = a.of_score(at, key, a.weight(at, key));
        }
        __syncthreads();
        for (int j = 0; j < count && col < a.dim; ++j) {
          sum += changes[j] * widen(a.k[(first_key + first + j) * a.dim + col]);
        }
        __syncthreads();
      }
      if (col < a.dim) dq[at * a.dim + col] = narrow<T>(sum);
    }
  }
}

template <typename T>
__device__ void attention_bwd_kv_body(const AttentionBackward<T>& a, T* dk, T* dv) {
  using C = Compute<T>;
  __shared__ C weights[kThreadsMax], changes[kThreadsMax];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const long long all = static_cast<long long>(a.batch) * a.keys;
  const int columns = max(a.dim, a.v_dim);
  for (long long at = blockIdx.x; at < all; at += gridDim.x) {
    const long long first_query = at / a.keys * a.queries;
    // Queries before it do not see the key.
    const int begin = a.causal ? static_cast<int>(at % a.keys) : 0;
    for (int col = thread; col - thread < columns; col += threads) {
      C of_k = 0, of_v = 0;
      for (int first = begin; first < a.queries; first += threads) {
        const int count = min(threads, a.queries - first);
        if (thread < count) {
          const long long query = first_query + first + thread;
          weights[thread] = a.weight(query, at);
          changes[thread] = a.of_score(query, at, weights[thread]);
        }
        __syncthreads();
        for (int i = 0; i < count; ++i) {
          const long long query = first_query + first + i;
          if (col < a.dim) of_k += changes[i] * widen(a.q[query * a.dim + col]);
          if (col < a.v_dim) of_v += weights[i] * widen(a.dy[query * a.v_dim + col]);
        }
        __syncthreads();
      }
      if (col < a.dim) dk[at * a.dim + col] = narrow<T>(of_k);
      if (col < a.v_dim) dv[at * a.v_dim + col] = narrow<T>(of_v);
    }
  }
}

#define GPUEMU_ATTENTION_ARGS                                                               \
  const T *q, const T *k, const T *v, const T *dy, Compute<T>*rows, int batch, int queries, \
      int keys, int dim, int v_dim, int causal, double scale
#define GPUEMU_ATTENTION                                              \
  AttentionBackward<T> {                                              \
    q, k, v, dy, rows, batch, queries, keys, dim, v_dim, causal != 0, \
        static_cast<Compute<T>>(scale)                                \
  }

GPUEMU_ENTRIES(attention_bwd_rows, (GPUEMU_ATTENTION_ARGS), (GPUEMU_ATTENTION))
GPUEMU_ENTRIES(attention_bwd_q, (GPUEMU_ATTENTION_ARGS, T* dq), (GPUEMU_ATTENTION, dq))
GPUEMU_ENTRIES(attention_bwd_kv, (GPUEMU_ATTENTION_ARGS, T* dk, T* dv), (GPUEMU_ATTENTION, dk, dv))

}  // namespace gpuemu_kernels
