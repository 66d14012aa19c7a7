#include "cli/debug/outputs.h"

#include <charconv>

#include "cli/debug/tensor_text.h"
#include "cli/report/text.h"
#include "common/base/device_list.h"
#include "common/base/text.h"
#include "common/numeric/element.h"

namespace gpuemu::cli {
namespace {

const std::byte* element_at(const Tensor& tensor, int64_t flat) {
  return tensor.data.data() + static_cast<size_t>(flat) * byte_size(tensor.dtype);
}

/// Formats expected values and bounds, which are float64, with this number of digits.
std::string number_text(const Tensor& tensor, int64_t flat, int digits) {
  const std::byte* element = element_at(tensor, flat);
  return is_float(tensor.dtype)
             ? fmt::format("{:.{}g}", read_as_double(tensor.dtype, element), digits)
             : element_text(tensor.dtype, element);
}

}  // namespace

bool is_output(const ExportedTensor& tensor) {
  return tensor.role == TensorRole::Output || tensor.role == TensorRole::InOut;
}

int emulated_sm(const std::string& arch) {
  int number = 0;
  if (!arch.starts_with("sm_")) return 0;
  std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  return number == 0 ? 0 : nearest_emulated_architecture(number);
}

void print_launch(DebugContext& context, size_t index, const LaunchReport& report) {
  const ExportedLaunch& launch = context.loaded->launches[index];
  const std::string work = report.thread_instructions == 0
                               ? ""
                               : ": " + counted(report.thread_instructions, "thread instruction");
  context.out << fmt::format("launch {} of {}, {}{}\n", index + 1, context.loaded->launches.size(),
                             one_line(launch.entry), work);
  for (const DeviceFinding& finding : report.findings) {
    const std::string times = finding.count > 1 ? fmt::format(" (x{})", finding.count) : "";
    context.out << one_line(
                       fmt::format("  {}{}: {}", name_of(finding.kind), times, finding.message))
                << '\n';
  }
  for (const std::string& line : report.printed) {
    context.out << "  printed: " << one_line(line) << '\n';
  }
}

std::string element_line(const DebugContext& context, const ExportedTensor& tensor,
                         const Tensor& values, int64_t flat) {
  const std::byte* element = element_at(values, flat);
  const Tensor& expected = context.loaded->expected.at(tensor.name);
  const Tensor& bounds = context.loaded->bounds.at(tensor.name);
  return fmt::format("{}{}, expected {} within {}", element_text(tensor.dtype, element),
                     is_unwritten(tensor.dtype, element) ? " (never written)" : "",
                     number_text(expected, flat, 9), number_text(bounds, flat, 3));
}

std::string output_line(const DebugContext& context, const ExportedTensor& tensor,
                        const Tensor& values, const Difference& difference) {
  const std::string what = fmt::format("{} {} {}", one_line(tensor.name), name_of(tensor.dtype),
                                       to_string(tensor.shape));
  if (!difference.refused.empty()) return what + ": not compared, " + difference.refused;
  const int64_t count = values.count();
  if (difference.count == 0) {
    return count == 1 ? what + ": its element is right"
                      : fmt::format("{}: all {} elements right", what, count);
  }
  return fmt::format("{}: {} of {} wrong, worst {} = {}", what, difference.count,
                     counted(static_cast<uint64_t>(count), "element"),
                     element_name(one_line(tensor.name), tensor.shape, difference.worst),
                     element_line(context, tensor, values, difference.worst));
}

Status print_outputs(DebugContext& context) {
  for (const ExportedTensor& tensor : context.loaded->tensors) {
    if (!is_output(tensor)) continue;
    const Tensor values = GPUEMU_TRY(context.run->read(tensor));
    const Difference difference = compare_output(*context.loaded, tensor, values);
    context.out << output_line(context, tensor, values, difference) << '\n';
  }
  return ok_status();
}

}  // namespace gpuemu::cli
