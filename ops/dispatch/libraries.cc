#include "ops/dispatch/libraries.h"

#include "ops/dispatch/registry.h"

namespace gpuemu {

std::string missing_library(const std::string& library) {
  if (library.empty()) return {};
  if (library != "cublas") return fmt::format("no library '{}' is known", library);
  const auto found = find_cublas();
  return found ? std::string() : found.error().message;
}

std::vector<const KernelVariant*> variants_here(const OpKind& op) {
  std::vector<const KernelVariant*> variants = by_priority(op);
  std::erase_if(variants, [](const KernelVariant* variant) {
    return !missing_library(variant->library).empty();
  });
  return variants;
}

std::string Libraries::refusal(const KernelVariant& variant) {
  if (variant.library.empty()) return {};
  if (variant.library != "cublas") return missing_library(variant.library);
  const std::lock_guard lock(mutex_);
  if (!tried_) {
    tried_ = true;
    auto opened = Cublas::open();
    if (opened) {
      cublas_ = *std::move(opened);
    } else {
      missing_ = opened.error().message;
    }
  }
  return missing_;
}

std::string Libraries::version(const KernelVariant&) const { return cublas_->version(); }

Status Libraries::issue(const OpCase& c, const KernelVariant& variant, StreamId stream) {
  const MatrixProduct product = variant.product(c);
  CublasProduct wanted{
      .dtype = c.in(0).dtype, .a = c.in(0).address, .b = c.in(1).address, .c = c.out(0).address};
  wanted.m = product.m;
  wanted.n = product.n;
  wanted.k = product.k;
  wanted.a_transposed = product.a_transposed;
  wanted.b_transposed = product.b_transposed;
  wanted.tf32 = product.tf32;
  // The id of a GPU's stream is the driver's handle.
  return cublas_->multiply(
      wanted,
      {.stream = stream, .workspace = c.workspace, .workspace_bytes = variant.workspace_bytes(c)});
}

}  // namespace gpuemu
