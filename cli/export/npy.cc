#include "cli/export/npy.h"

#include <fmt/core.h>

namespace gpuemu::cli {
namespace {

constexpr size_t kAlignment = 64;  // Required by the format for the data.

std::string descr_of(DType dtype) {
  if (dtype == DType::Bool) return "|b1";
  const size_t bytes = byte_size(dtype);
  const std::string name(name_of(dtype));
  const char kind = dtype == DType::BFloat16 || name.starts_with("uint") ? 'u'
                    : name.starts_with("int")                            ? 'i'
                                                                         : 'f';
  return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', kind, bytes);
}

}  // namespace

std::string npy_text(const Tensor& tensor) {
  std::string shape;
  for (const int64_t size : tensor.shape) shape += fmt::format("{}, ", size);
  if (tensor.shape.size() > 1) shape.resize(shape.size() - 2);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descr_of(tensor.dtype), shape);
  constexpr size_t kPreamble = 10;
  header.append(kAlignment - (kPreamble + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return text;
}

}  // namespace gpuemu::cli
