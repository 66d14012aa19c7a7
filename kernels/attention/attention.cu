// y = softmax(scale * q k^T) v for each of `batch` matrices, q being queries x dim, k keys x dim
// and v keys x v_dim. With `causal`, query i sees the keys up to i. Masked keys are not read;
// without any key y is 0. attention_naive keeps the scores of one query in memory; attention_online
// works on tiles of keys and corrects its sums as the maximum rises. Any one-dimensional grid;
// naive any block size, online 128.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

struct AttentionShape {
  int batch, queries, keys, dim, v_dim;
  bool causal;

  /// How many keys query `at` sees.
  __device__ __forceinline__ int visible(int at) const { return causal ? min(keys, at + 1) : keys; }
};

template <typename T>
__device__ void attention_naive_body(const T* q, const T* k, const T* v, T* y, Compute<T>* scores,
                                     const AttentionShape& shape, double scale) {
  using C = Compute<T>;
  __shared__ C partial[32];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  C* row = scores + static_cast<long long>(blockIdx.x) * shape.keys;
  const long long rows = static_cast<long long>(shape.batch) * shape.queries;
  for (long long at = blockIdx.x; at < rows; at += gridDim.x) {
    const long long first_key = at / shape.queries * shape.keys;
    const int visible = shape.visible(static_cast<int>(at % shape.queries));
    C most = Max::identity<C>();
    for (int j = thread; j < visible; j += threads) {
      C score = 0;
      for (int i = 0; i < shape.dim; ++i) {
        score += widen(q[at * shape.dim + i]) * widen(k[(first_key + j) * shape.dim + i]);
      }
      row[j] = score * static_cast<C>(scale);
      most = Max::apply(most, row[j]);
    }
    most = reduce_block<Max>(most, partial);
    C total = 0;
    for (int j = thread; j < visible; j += threads) {
      row[j] = exp(row[j] - most);
      total += row[j];
    }
    total = reduce_block<Sum>(total, partial);
    for (int col = thread; col < shape.v_dim; col += threads) {
      C sum = 0;
      for (int j = 0; j < visible; ++j) {
        sum += row[j] * widen(v[(first_key + j) * shape.v_dim + col]);
      }
      y[at * shape.v_dim + col] = narrow<T>(visible == 0 ? C(0) : sum / total);
    }
    __syncthreads();
  }
}

constexpr int kTile = 32;  ///< Queries of a block, and keys at once.
constexpr int kTeam = 8;   ///< Threads that share two queries.
constexpr int kTwo = 2;    ///< Queries of a thread.
constexpr int kThreads = kTile / kTwo * kTeam;
constexpr int kScores = kTile / kTeam;  ///< Keys of a thread.

/// The longest rows that fit into 48 KiB of shared memory.
template <typename C>
constexpr int kDimMax = sizeof(C) == 8 ? 64 : 128;

/// One more element per row, so that a column lies in as many banks as it has rows.
template <typename C>
struct AttentionTiles {
  C q[kTile][kDimMax<C> + 1];
  C kv[kTile][kDimMax<C> + 1];
  C weights[kTile][kTile + 1];
};

/// Rows that are not there are 0, so that their scores can be computed and left out.
template <typename T, typename Rows>
__device__ __forceinline__ void load_tile(const T* from, Rows& to, int rows, int cols) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * cols; i += kThreads) {
    to[i / cols][i % cols] = i < rows * cols ? widen(from[i]) : Compute<T>(0);
  }
}

template <typename Op, typename C>
__device__ __forceinline__ C reduce_team(C value) {
#pragma unroll
  for (int apart = kTeam / 2; apart > 0; apart /= 2) {
    value = Op::apply(value, __shfl_xor_sync(0xffffffffu, value, apart));
  }
  return value;
}

/// What one thread of a team knows of its two queries.
template <typename C>
struct OnlineRows {
  static constexpr int kColumns = kDimMax<C> / kTeam;
  C most[kTwo], total[kTwo], sums[kTwo][kColumns];
  int lane, first;  ///< Place in the team, and the first of the queries in the tile.

  __device__ __forceinline__ OnlineRows() {
    lane = static_cast<int>(threadIdx.x) % kTeam;
    first = static_cast<int>(threadIdx.x) / kTeam * kTwo;
#pragma unroll
    for (int r = 0; r < kTwo; ++r) {
      most[r] = Max::identity<C>();
      total[r] = C(0);
#pragma unroll
      for (int c = 0; c < kColumns; ++c) sums[r][c] = C(0);
    }
  }

  /// The scores of the tile's keys become weights in shared memory. `seen` keys of the tile are
  /// visible to each query.
  __device__ __forceinline__ void weigh(AttentionTiles<C>& tiles, int dim, C scale,
                                        const int (&seen)[kTwo]) {
    C scores[kTwo][kScores] = {};
    for (int i = 0; i < dim; ++i) {
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
        const C key = tiles.kv[lane + j * kTeam][i];
#pragma unroll
        for (int r = 0; r < kTwo; ++r) scores[r][j] += tiles.q[first + r][i] * key;
      }
    }
#pragma unroll
    for (int r = 0; r < kTwo; ++r) {
      C highest = most[r];
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
        scores[r][j] *= scale;
        if (lane + j * kTeam < seen[r]) highest = Max::apply(highest, scores[r][j]);
      }
      highest = reduce_team<Max>(highest);
      // Equal infinities would give NaN; nothing is lost then.
      const C kept = most[r] == highest ? C(1) : exp(most[r] - highest);
      C added = 0;
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
        const bool counts = lane + j * kTeam < seen[r] && highest != C(-INFINITY);
        const C weight = counts ? exp(scores[r][j] - highest) : C(0);
        tiles.weights[first + r][lane + j * kTeam] = weight;
        added += weight;
      }
      total[r] = total[r] * kept + reduce_team<Sum>(added);
      most[r] = highest;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) sums[r][c] *= kept;
    }
  }

  /// Adds the weighted rows of v.
  __device__ __forceinline__ void add(const AttentionTiles<C>& tiles, int v_dim,
                                      const int (&seen)[kTwo]) {
    for (int j = 0; j < max(seen[0], seen[1]); ++j) {
      C weight[kTwo];
#pragma unroll
      for (int r = 0; r < kTwo; ++r) weight[r] = tiles.weights[first + r][j];
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        if (lane + c * kTeam >= v_dim) continue;
        const C value = tiles.kv[j][lane + c * kTeam];
#pragma unroll
        for (int r = 0; r < kTwo; ++r) {
          // A weight of 0 would not keep the NaN of a masked key out.
          if (j < seen[r]) sums[r][c] += weight[r] * value;
        }
      }
    }
  }
};

template <typename T>
__device__ void attention_tile(const T* q, const T* k, const T* v, T* y, int first_query,
                               const AttentionShape& shape, Compute<T> scale,
                               AttentionTiles<Compute<T>>& tiles) {
  using C = Compute<T>;
  const int queries = min(kTile, shape.queries - first_query);
  const int visible = shape.visible(first_query + queries - 1);
  load_tile(q + static_cast<long long>(first_query) * shape.dim, tiles.q, queries, shape.dim);
  OnlineRows<C> rows;
  for (int first_key = 0; first_key < visible; first_key += kTile) {
    const int keys = min(kTile, visible - first_key);
    int seen[kTwo];
#pragma unroll
    for (int r = 0; r < kTwo; ++r) {
      const bool exists = rows.first + r < queries;
      seen[r] = exists ? min(keys, shape.visible(first_query + rows.first + r) - first_key) : 0;
    }
    load_tile(k + static_cast<long long>(first_key) * shape.dim, tiles.kv, keys, shape.dim);
    __syncthreads();
    rows.weigh(tiles, shape.dim, scale, seen);
    __syncthreads();
    load_tile(v + static_cast<long long>(first_key) * shape.v_dim, tiles.kv, keys, shape.v_dim);
    __syncthreads();
    rows.add(tiles, shape.v_dim, seen);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kTwo; ++r) {
    if (rows.first + r >= queries) continue;
    T* to = y + static_cast<long long>(first_query + rows.first + r) * shape.v_dim;
#pragma unroll
    for (int c = 0; c < OnlineRows<C>::kColumns; ++c) {
      const int col = rows.lane + c * kTeam;
      if (col < shape.v_dim) {
        to[col] = narrow<T>(visible == 0 ? C(0) : rows.sums[r][c] / rows.total[r]);
      }
    }
  }
  __syncthreads();
}

template <typename T>
__device__ void attention_online_body(const T* q, const T* k, const T* v, T* y,
                                      const AttentionShape& shape, double scale) {
  __shared__ AttentionTiles<Compute<T>> tiles;
  const long long per_batch = (shape.queries + kTile - 1) / kTile;
  for (long long at = blockIdx.x; at < shape.batch * per_batch; at += gridDim.x) {
    const long long batch = at / per_batch;
    attention_tile(q + batch * shape.queries * shape.dim, k + batch * shape.keys * shape.dim,
                   v + batch * shape.keys * shape.v_dim, y + batch * shape.queries * shape.v_dim,
                   static_cast<int>(at % per_batch) * kTile, shape, static_cast<Compute<T>>(scale),
                   tiles);
  }
}

GPUEMU_ENTRIES(attention_naive,
               (const T* q, const T* k, const T* v, T* y, Compute<T>* scores, int batch,
                int queries, int keys, int dim, int v_dim, int causal, double scale),
               (q, k, v, y, scores, AttentionShape{batch, queries, keys, dim, v_dim, causal != 0},
                scale))
GPUEMU_ENTRIES(attention_online,
               (const T* q, const T* k, const T* v, T* y, int batch, int queries, int keys, int dim,
                int v_dim, int causal, double scale),
               (q, k, v, y, AttentionShape{batch, queries, keys, dim, v_dim, causal != 0}, scale))

}  // namespace gpuemu_kernels
