// Convolution of images (images x channels x rows x columns) with filters (filters x channels x
// kernel rows x kernel columns) and its gradients. The padding is 0.
// conv2d and conv2d_bwd_x have one thread per element of the result, any one-dimensional grid
// and block; conv2d_bwd_w has one block per weight, any block size. Sums are in a fixed order.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

struct ConvShape {
  int images, channels, rows, columns, filters, kernel_rows, kernel_columns, out_rows, out_columns;
  int stride_rows, stride_columns, pad_rows, pad_columns;

  __device__ __forceinline__ long long image_at(long long plane, int row, int column) const {
    return (plane * rows + row) * columns + column;
  }
  __device__ __forceinline__ long long weight_at(long long pair, int row, int column) const {
    return (pair * kernel_rows + row) * kernel_columns + column;
  }
  __device__ __forceinline__ long long out_at(long long plane, int row, int column) const {
    return (plane * out_rows + row) * out_columns + column;
  }
};

/// The window that sees `at` with tap `tap`; -1 when there is none.
__device__ __forceinline__ int window_of(int at, int tap, int pad, int stride, int windows) {
  const int from = at + pad - tap;
  if (from < 0 || from % stride != 0 || from / stride >= windows) return -1;
  return from / stride;
}

template <typename T>
__device__ void conv2d_body(const T* x, const T* w, T* y, const ConvShape& s) {
  const long long all = static_cast<long long>(s.images) * s.filters * s.out_rows * s.out_columns;
  const long long threads = thread_count();
  for (long long at = thread_index(); at < all; at += threads) {
    const int left = static_cast<int>(at % s.out_columns) * s.stride_columns - s.pad_columns;
    const long long line = at / s.out_columns;
    const int top = static_cast<int>(line % s.out_rows) * s.stride_rows - s.pad_rows;
    const long long plane = line / s.out_rows;
    const long long filter = plane % s.filters, image = plane / s.filters;
    Compute<T> total = 0;
    for (int c = 0; c < s.channels; ++c) {
      for (int r = 0; r < s.kernel_rows; ++r) {
        if (top + r < 0 || top + r >= s.rows) continue;
        for (int t = 0; t < s.kernel_columns; ++t) {
          if (left + t < 0 || left + t >= s.columns) continue;
          total += widen(x[s.image_at(image * s.channels + c, top + r, left + t)]) *
                   widen(w[s.weight_at(filter * s.channels + c, r, t)]);
        }
      }
    }
    y[at] = narrow<T>(total);
  }
}

template <typename T>
__device__ void conv2d_bwd_x_body(const T* w, const T* dy, T* dx, const ConvShape& s) {
  const long long all = static_cast<long long>(s.images) * s.channels * s.rows * s.columns;
  const long long threads = thread_count();
  for (long long at = thread_index(); at < all; at += threads) {
    const int column = static_cast<int>(at % s.columns);
    const long long line = at / s.columns;
    const int row = static_cast<int>(line % s.rows);
    const long long plane = line / s.rows;
    const long long channel = plane % s.channels, image = plane / s.channels;
    Compute<T> total = 0;
    for (int o = 0; o < s.filters; ++o) {
      for (int r = 0; r < s.kernel_rows; ++r) {
        const int p = window_of(row, r, s.pad_rows, s.stride_rows, s.out_rows);
        if (p < 0) continue;
        for (int t = 0; t < s.kernel_columns; ++t) {
          const int q = window_of(column, t, s.pad_columns, s.stride_columns, s.out_columns);
          if (q < 0) continue;
          total += widen(dy[s.out_at(image * s.filters + o, p, q)]) *
                   widen(w[s.weight_at(static_cast<long long>(o) * s.channels + channel, r, t)]);
        }
      }
    }
    dx[at] = narrow<T>(total);
  }
}

template <typename T>
__device__ void conv2d_bwd_w_body(const T* x, const T* dy, T* dw, const ConvShape& s) {
  using C = Compute<T>;
  __shared__ C partial[32];
  const long long taps = static_cast<long long>(s.kernel_rows) * s.kernel_columns;
  const long long all = static_cast<long long>(s.filters) * s.channels * taps;
  const long long places = static_cast<long long>(s.out_rows) * s.out_columns;
  for (long long at = blockIdx.x; at < all; at += gridDim.x) {
    const int t = static_cast<int>(at % s.kernel_columns);
    const int r = static_cast<int>(at / s.kernel_columns % s.kernel_rows);
    const long long channel = at / taps % s.channels, filter = at / taps / s.channels;
    C total = 0;
    for (long long i = threadIdx.x; i < s.images * places; i += blockDim.x) {
      const long long image = i / places;
      const int p = static_cast<int>(i % places / s.out_columns);
      const int q = static_cast<int>(i % s.out_columns);
      const int row = p * s.stride_rows - s.pad_rows + r;
      const int column = q * s.stride_columns - s.pad_columns + t;
      if (row < 0 || row >= s.rows || column < 0 || column >= s.columns) continue;
      total += widen(x[s.image_at(image * s.channels + channel, row, column)]) *
               widen(dy[s.out_at(image * s.filters + filter, p, q)]);
    }
    total = reduce_block<Sum>(total, partial);
    if (threadIdx.x == 0u) dw[at] = narrow<T>(total);
  }
}

#define GPUEMU_CONV_ARGS                                                                      \
  int images, int channels, int rows, int columns, int filters, int kernel_rows,              \
      int kernel_columns, int out_rows, int out_columns, int stride_rows, int stride_columns, \
      int pad_rows, int pad_columns
#define GPUEMU_CONV_SHAPE                                                                         \
  ConvShape {                                                                                     \
    images, channels, rows, columns, filters, kernel_rows, kernel_columns, out_rows, out_columns, \
        stride_rows, stride_columns, pad_rows, pad_columns                                        \
  }

GPUEMU_ENTRIES(conv2d, (const T* x, const T* w, T* y, GPUEMU_CONV_ARGS),
               (x, w, y, GPUEMU_CONV_SHAPE))
GPUEMU_ENTRIES(conv2d_bwd_x, (const T* w, const T* dy, T* dx, GPUEMU_CONV_ARGS),
               (w, dy, dx, GPUEMU_CONV_SHAPE))
GPUEMU_ENTRIES(conv2d_bwd_w, (const T* x, const T* dy, T* dw, GPUEMU_CONV_ARGS),
               (x, dy, dw, GPUEMU_CONV_SHAPE))

}  // namespace gpuemu_kernels
