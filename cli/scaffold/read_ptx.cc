#include "cli/scaffold/read_ptx.h"

#include <optional>
#include <utility>

#include "cli/proposals/propose.h"
#include "cli/trials/settle.h"
#include "common/base/files.h"
#include "common/base/limits.h"

namespace gpuemu::cli {

void add_ptx_kernel(const PtxMetrics& metrics, const std::filesystem::path& folder,
                    const std::string& file, SourceKernels& kernels) {
  std::string why;
  const auto text = read_file(folder / file, kSourceBytesMax);
  const auto threads = text ? threads_of_entry(*text, metrics.entry) : std::vector<std::string>();
  auto proposed = propose(metrics, file, threads, why);
  if (!proposed) {
    kernels.left_out.push_back({file, "", why});
    return;
  }
  if (text) why = settle(*text, proposed->entry, *proposed);
  proposed->guess = why;
  kernels.kernels.push_back(*std::move(proposed));
}

}  // namespace gpuemu::cli
