// Gradients of y = (x - mean) * scale * weight + bias over each row, with scale = 1 / sqrt(variance
// + eps): of g = dy * weight and h = (x - mean) * scale, dx = scale * (g - mean(g) - h * mean(g *
// h)), dweight = the column sums of dy * h, dbias those of dy. Each block works on rows of its own
// and leaves its sums of the columns in `partial`, as 2 x blocks x cols; layernorm_bwd_total adds
// them. Rows that fit are kept in registers, so that x and dy are read once. Any block size;
// layernorm_bwd_total takes a power of two from 32 to 256.
#include "kernels/columns.cuh"

namespace gpuemu_kernels {

constexpr int kPackets = 4;  ///< Packets of a row that a thread holds in registers.

/// Mean and scale of a row, and the two means that dx subtracts.
template <typename C>
struct RowGradient {
  C mean, scale, g_mean, gh_mean;
  __device__ __forceinline__ C normal(C x) const { return (x - mean) * scale; }
  __device__ __forceinline__ C dx(C x, C g) const {
    return scale * (g - g_mean - normal(x) * gh_mean);
  }
};

/// `visit` walks the x and g of a row that belong to the calling thread. `partial` holds a block's
/// worth of warps.
template <typename C, typename Visit>
__device__ RowGradient<C> row_gradient(const Visit& visit, int cols, C eps, C* partial) {
  const C count = static_cast<C>(cols);
  RowGradient<C> row{};
  C total = 0;
  visit([&](C x, C) { total += x; });
  row.mean = reduce_block<Sum>(total, partial) / count;
  C squares = 0;
  visit([&](C x, C) { squares += (x - row.mean) * (x - row.mean); });
  row.scale = C(1) / sqrt(reduce_block<Sum>(squares, partial) / count + eps);
  C g_total = 0, gh_total = 0;
  visit([&](C x, C g) {
    g_total += g;
    gh_total += g * row.normal(x);
  });
  row.g_mean = reduce_block<Sum>(g_total, partial) / count;
  row.gh_mean = reduce_block<Sum>(gh_total, partial) / count;
  return row;
}

/// f(number of the packet, first of its elements) for the calling thread's packets of a row.
template <typename T, typename F>
__device__ __forceinline__ void each_packet(int cols, F f) {
#pragma unroll
  for (int p = 0; p < kPackets; ++p) {
    const int at =
        (p * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * Packet<T>::kCount;
    if (at < cols) f(p, at);
  }
}

/// Rows of whole packets that fit into the registers of the block.
template <typename T>
__device__ void cached_rows(const T* x, const T* weight, const T* dy, T* dx, Compute<T>* dweight,
                            Compute<T>* dbias, int rows, int cols, Compute<T> eps) {
  using C = Compute<T>;
  constexpr int kCount = Packet<T>::kCount;
  __shared__ C warps[32];
  C weight_sums[kPackets * kCount] = {}, bias_sums[kPackets * kCount] = {};
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    Packet<T> in[kPackets], up[kPackets], scales[kPackets];
    each_packet<T>(cols, [&](int p, int at) {
      in[p] = Packet<T>::load(x + row * cols + at);
      up[p] = Packet<T>::load(dy + row * cols + at);
      scales[p] = Packet<T>::load(weight + at);
    });
    const auto visit = [&](auto f) {
      each_packet<T>(cols, [&](int p, int) {
#pragma unroll
        for (int j = 0; j < kCount; ++j) {
          f(widen(in[p].at[j]), widen(up[p].at[j]) * widen(scales[p].at[j]));
        }
      });
    };
    const RowGradient<C> gradient = row_gradient<C>(visit, cols, eps, warps);
    each_packet<T>(cols, [&](int p, int at) {
      Packet<T> out;
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        const C value = widen(in[p].at[j]), change = widen(up[p].at[j]);
        out.at[j] = narrow<T>(gradient.dx(value, change * widen(scales[p].at[j])));
        weight_sums[p * kCount + j] += change * gradient.normal(value);
        bias_sums[p * kCount + j] += change;
      }
      out.store(dx + row * cols + at);
    });
  }
  each_packet<T>(cols, [&](int p, int at) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      dweight[at + j] = weight_sums[p * kCount + j];
      dbias[at + j] = bias_sums[p * kCount + j];
    }
  });
}

template <typename T>
__device__ void long_rows(const T* x, const T* weight, const T* dy, T* dx, Compute<T>* dweight,
                          Compute<T>* dbias, int rows, int cols, Compute<T> eps) {
  using C = Compute<T>;
  __shared__ C warps[32];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (int i = thread; i < cols; i += threads) dweight[i] = dbias[i] = C(0);
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * cols;
    const T* up = dy + row * cols;
    const auto visit = [&](auto f) {
      for (int i = thread; i < cols; i += threads) {
        f(widen(in[i]), widen(up[i]) * widen(weight[i]));
      }
    };
    const RowGradient<C> gradient = row_gradient<C>(visit, cols, eps, warps);
    for (int i = thread; i < cols; i += threads) {
      const C value = widen(in[i]), change = widen(up[i]);
      dx[row * cols + i] = narrow<T>(gradient.dx(value, change * widen(weight[i])));
      dweight[i] += change * gradient.normal(value);
      dbias[i] += change;
    }
  }
}

template <typename T>
__device__ void layernorm_bwd_body(const T* x, const T* weight, const T* dy, T* dx,
                                   Compute<T>* partial, int rows, int cols, double eps) {
  using C = Compute<T>;
  const unsigned phases = phase_of(x) | phase_of(weight) | phase_of(dy) | phase_of(dx);
  const bool cached = phases == 0u && cols % Packet<T>::kCount == 0 &&
                      cols <= static_cast<int>(blockDim.x) * kPackets * Packet<T>::kCount;
  const long long blocks = gridDim.x;
  C* dweight = partial + blockIdx.x * static_cast<long long>(cols);
  C* dbias = dweight + blocks * cols;
  if (cached) {
    cached_rows(x, weight, dy, dx, dweight, dbias, rows, cols, static_cast<C>(eps));
  } else {
    long_rows(x, weight, dy, dx, dweight, dbias, rows, cols, static_cast<C>(eps));
  }
}

template <int kWidth, typename T>
__device__ void total_tiles(const Compute<T>* partial, T* dweight, T* dbias, int blocks, int cols) {
  constexpr int kColumns = kColumnLanes * kWidth;
  const int tiles = (cols + kColumns - 1) / kColumns;
  for (int at = static_cast<int>(blockIdx.x); at < 2 * tiles; at += static_cast<int>(gridDim.x)) {
    const bool bias = at >= tiles;
    T* to = bias ? dbias : dweight;
    fold_column_tile<Sum, kWidth>(
        partial + (bias ? static_cast<long long>(blocks) * cols : 0), blocks, cols,
        static_cast<long long>(at % tiles) * kColumns,
        [&](long long col, Compute<T> total) { to[col] = narrow<T>(total); });
  }
}

template <typename T>
__device__ void layernorm_bwd_total_body(const Compute<T>* partial, T* dweight, T* dbias,
                                         int blocks, int cols) {
  if (has_column_packets(partial, cols)) {
    total_tiles<Packet<Compute<T>>::kCount>(partial, dweight, dbias, blocks, cols);
  } else {
    total_tiles<1>(partial, dweight, dbias, blocks, cols);
  }
}

GPUEMU_ENTRIES(layernorm_bwd,
               (const T* x, const T* weight, const T* dy, T* dx, Compute<T>* partial, int rows,
                int cols, double eps),
               (x, weight, dy, dx, partial, rows, cols, eps))
GPUEMU_ENTRIES(layernorm_bwd_total,
               (const Compute<T>* partial, T* dweight, T* dbias, int blocks, int cols),
               (partial, dweight, dbias, blocks, cols))

}  // namespace gpuemu_kernels
