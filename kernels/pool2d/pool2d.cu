// Maximum and mean of the windows of images (planes x rows x columns), and their gradients. A NaN
// is the maximum of its window, whose gradient goes to the first of the largest elements. One
// thread per element of the result, any one-dimensional grid and block; sums are in a fixed
// order.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

struct PoolShape {
  int planes, rows, columns, kernel_rows, kernel_columns, stride_rows, stride_columns, out_rows,
      out_columns;
};

/// A position in the images or the windows.
struct Place {
  long long plane;
  int row, column;

  __device__ __forceinline__ Place(long long at, int rows, int columns)
      : plane(at / columns / rows),
        row(static_cast<int>(at / columns % rows)),
        column(static_cast<int>(at % columns)) {}
};

/// f(row in the images, column in them) for each element of a window, in their order.
template <typename F>
__device__ __forceinline__ void each_of_window(const PoolShape& s, int window_row,
                                               int window_column, F f) {
  for (int r = 0; r < s.kernel_rows; ++r) {
    for (int t = 0; t < s.kernel_columns; ++t) {
      f(window_row * s.stride_rows + r, window_column * s.stride_columns + t);
    }
  }
}

/// f(row of the window, its column) for each window that contains the position.
template <typename F>
__device__ __forceinline__ void each_window_of(const PoolShape& s, const Place& at, F f) {
  const int first_row = at.row < s.kernel_rows ? 0 : (at.row - s.kernel_rows) / s.stride_rows + 1;
  const int first_column =
      at.column < s.kernel_columns ? 0 : (at.column - s.kernel_columns) / s.stride_columns + 1;
  const int last_row = min(at.row / s.stride_rows, s.out_rows - 1);
  const int last_column = min(at.column / s.stride_columns, s.out_columns - 1);
  for (int p = first_row; p <= last_row; ++p) {
    for (int q = first_column; q <= last_column; ++q) f(p, q);
  }
}

template <typename T, typename F>
__device__ __forceinline__ void each_output(const PoolShape& s, T* y, F f) {
  const long long all = static_cast<long long>(s.planes) * s.out_rows * s.out_columns;
  const long long threads = thread_count();
  for (long long at = thread_index(); at < all; at += threads) {
    y[at] = narrow<T>(f(Place(at, s.out_rows, s.out_columns)));
  }
}

template <typename T, typename F>
__device__ __forceinline__ void each_input(const PoolShape& s, T* dx, F f) {
  const long long all = static_cast<long long>(s.planes) * s.rows * s.columns;
  const long long threads = thread_count();
  for (long long at = thread_index(); at < all; at += threads) {
    dx[at] = narrow<T>(f(Place(at, s.rows, s.columns)));
  }
}

template <typename T>
__device__ void max_pool2d_body(const T* x, T* y, const PoolShape& s) {
  using C = Compute<T>;
  each_output(s, y, [&](const Place& at) {
    const T* plane = x + at.plane * s.rows * s.columns;
    C most = Max::identity<C>();
    each_of_window(s, at.row, at.column, [&](int row, int column) {
      most = Max::apply(most, widen(plane[static_cast<long long>(row) * s.columns + column]));
    });
    return most;
  });
}

/// Whether the position holds the first of the largest elements of a window.
template <typename T>
__device__ __forceinline__ bool is_first(const T* plane, const PoolShape& s, int p, int q,
                                         const Place& at) {
  using C = Compute<T>;
  C most = 0;
  int first_row = -1, first_column = -1;
  each_of_window(s, p, q, [&](int row, int column) {
    const C value = widen(plane[static_cast<long long>(row) * s.columns + column]);
    if (first_row < 0 || value > most || (value != value && most == most)) {
      most = value;
      first_row = row;
      first_column = column;
    }
  });
  return first_row == at.row && first_column == at.column;
}

template <typename T>
__device__ void max_pool2d_bwd_body(const T* x, const T* dy, T* dx, const PoolShape& s) {
  using C = Compute<T>;
  each_input(s, dx, [&](const Place& at) {
    const T* plane = x + at.plane * s.rows * s.columns;
    C total = 0;
    each_window_of(s, at, [&](int p, int q) {
      if (is_first(plane, s, p, q, at)) {
        total += widen(dy[(at.plane * s.out_rows + p) * s.out_columns + q]);
      }
    });
    return total;
  });
}

template <typename T>
__device__ void avg_pool2d_body(const T* x, T* y, const PoolShape& s) {
  using C = Compute<T>;
  each_output(s, y, [&](const Place& at) {
    const T* plane = x + at.plane * s.rows * s.columns;
    C total = 0;
    each_of_window(s, at.row, at.column, [&](int row, int column) {
      total += widen(plane[static_cast<long long>(row) * s.columns + column]);
    });
    return total / static_cast<C>(s.kernel_rows * s.kernel_columns);
  });
}

template <typename T>
__device__ void avg_pool2d_bwd_body(const T* dy, T* dx, const PoolShape& s) {
  using C = Compute<T>;
  each_input(s, dx, [&](const Place& at) {
    C total = 0;
    each_window_of(s, at, [&](int p, int q) {
      total += widen(dy[(at.plane * s.out_rows + p) * s.out_columns + q]);
    });
    return total / static_cast<C>(s.kernel_rows * s.kernel_columns);
  });
}

#define GPUEMU_POOL_ARGS                                                                   \
  int planes, int rows, int columns, int kernel_rows, int kernel_columns, int stride_rows, \
      int stride_columns, int out_rows, int out_columns
#define GPUEMU_POOL_SHAPE                                                                      \
  PoolShape {                                                                                  \
    planes, rows, columns, kernel_rows, kernel_columns, stride_rows, stride_columns, out_rows, \
        out_columns                                                                            \
  }

GPUEMU_ENTRIES(max_pool2d, (const T* x, T* y, GPUEMU_POOL_ARGS), (x, y, GPUEMU_POOL_SHAPE))
GPUEMU_ENTRIES(max_pool2d_bwd, (const T* x, const T* dy, T* dx, GPUEMU_POOL_ARGS),
               (x, dy, dx, GPUEMU_POOL_SHAPE))
GPUEMU_ENTRIES(avg_pool2d, (const T* x, T* y, GPUEMU_POOL_ARGS), (x, y, GPUEMU_POOL_SHAPE))
GPUEMU_ENTRIES(avg_pool2d_bwd, (const T* dy, T* dx, GPUEMU_POOL_ARGS), (dy, dx, GPUEMU_POOL_SHAPE))

}  // namespace gpuemu_kernels
