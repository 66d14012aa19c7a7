#include "cli/scaffold/project_text.h"

#include <algorithm>

#include <fmt/core.h>

namespace gpuemu::cli {
namespace {

/// A basic string of TOML.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    if (static_cast<unsigned char>(letter) < 0x20) {
      out += fmt::format("\\u{:04x}", letter);
    } else {
      out += letter;
    }
  }
  return out + "\"";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// Matrices of a product are known by the names of their sizes; else all tensors are alike.
std::string shape_of(const ProposedKernel& kernel, size_t tensor) {
  std::vector<std::string> dims = kernel.dims();
  if (dims.empty()) return std::string("[256]");
  std::vector<std::string> lower = dims;
  for (std::string& name : lower) {
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
  }
  const auto find = [&](const char* name) -> std::string {
    const auto at = std::ranges::find(lower, name);
    if (at == lower.end()) return {};
    return dims[static_cast<size_t>(at - lower.begin())];
  };
  const std::string m = find("m"), n = find("n"), k = find("k");
  if (dims.size() == 3 && !m.empty() && !n.empty() && !k.empty() && tensor < 3) {
    const std::pair<std::string, std::string> sizes[] = {{m, k}, {k, n}, {m, n}};
    return fmt::format("[{}, {}]", quoted(sizes[tensor].first), quoted(sizes[tensor].second));
  }
  if (dims.size() > 2) dims.resize(2);
  for (std::string& name : dims) name = quoted(name);
  return fmt::format("[{}]", joined(dims));
}

std::string header_text(const ProjectText& project) {
  return fmt::format("[project]\nname = {}\n\n[validation]\nseed = 42\n", quoted(project.name));
}

std::string kernel_text(const ProposedKernel& kernel) {
  std::vector<std::string> inputs, outputs, dims, attrs, args, grid, block;
  size_t tensors = 0;
  for (const std::string& name : kernel.grid_dims) dims.push_back(name + " = [1, 300]");
  for (const ProposedParam& param : kernel.params) {
    const bool tensor = param.role == ParamRole::Input || param.role == ParamRole::Output ||
                        param.role == ParamRole::InOut;
    const std::string spec =
        tensor ? fmt::format("{{ name = {}, shape = {}, dtype = {} }}", quoted(param.name),
                             shape_of(kernel, tensors++), quoted(param.dtype))
               : "";
    if (param.role == ParamRole::Input || param.role == ParamRole::InOut) inputs.push_back(spec);
    if (param.role == ParamRole::Output) outputs.push_back(spec);
    if (param.role == ParamRole::InOut) {
      outputs.push_back(fmt::format("{{ name = {}, inout = true }}", quoted(param.name)));
    }
    if (param.role == ParamRole::Dim) dims.push_back(fmt::format("{} = [1, 300]", param.name));
    if (param.role == ParamRole::Attr) {
      attrs.push_back(fmt::format("{} = {{ type = {}, values = [1.0, 0.5] }}", param.name,
                                  quoted(param.dtype)));
    }
    args.push_back(quoted(tensor ? param.name : param.tag + ":" + param.name));
  }
  for (const std::string& size : kernel.grid) grid.push_back(quoted(size));
  for (const std::string& size : kernel.block) block.push_back(quoted(size));
  std::string text =
      fmt::format("\n[[kernels]]\nname = {}\nsource = {}\nreference = {}\n", quoted(kernel.name),
                  quoted(kernel.source), quoted(reference_path(kernel)));
  text += fmt::format("inputs = [{}]\noutputs = [{}]\n", joined(inputs), joined(outputs));
  if (!dims.empty()) text += fmt::format("dims = {{ {} }}\n", joined(dims));
  if (!attrs.empty()) text += fmt::format("attrs = {{ {} }}\n", joined(attrs));
  const std::string shared =
      kernel.shared.empty() ? "" : fmt::format(", shared = {}", quoted(kernel.shared));
  text += fmt::format(
      "launches = [\n  {{ entry = {}, grid = [{}], block = [{}]{}, args = [{}] }},\n]\n",
      quoted(kernel.entry), joined(grid), joined(block), shared, joined(args));
  return text;
}

}  // namespace

std::string reference_path(const ProposedKernel& kernel) {
  return "scripts/ref_" + kernel.name + ".py";
}

std::string config_text(const ProjectText& project, const std::vector<ProposedKernel>& kernels) {
  std::string text = header_text(project);
  text +=
      "\n# Proposed by `gpuemu init` from the kernels' parameters: compare shapes, grid, block "
      "and\n"
      "# shared memory with how your program launches each.\n";
  for (const ProposedKernel& kernel : kernels) text += kernel_text(kernel);
  return text;
}

std::string reference_text(const ProposedKernel& kernel) {
  std::vector<std::string> names, results;
  for (const ProposedParam& param : kernel.params) {
    if (param.role != ParamRole::Output && param.role != ParamRole::Null) {
      names.push_back(param.name);
    }
    if (param.role == ParamRole::Output || param.role == ParamRole::InOut) {
      results.push_back(param.name);
    }
  }
  return fmt::format(
      "\"\"\"What the kernel {0} should compute.\n\n"
      "Inputs arrive as NumPy arrays widened to float64, sizes and attributes as numbers. Return "
      "the\n"
      "expected {2} without rounding.\n\"\"\"\n\n\n"
      "def reference({1}):\n"
      "    raise NotImplementedError(\"return what {0} should compute: {2}\")\n",
      kernel.name, joined(names), results.empty() ? "output" : joined(results));
}

std::string client_config_text(const ProjectText& project) {
  return header_text(project) +
         "\n# Runs in your program: gpuemu.Client().validate_op(\"example\", inputs, output) "
         "judges it.\n"
         "[[ops]]\nname = \"example\"\nreference = \"scripts/ref_example.py\"\n"
         "input_names = [\"x\"]\n";
}

std::string client_reference_text() {
  return "\"\"\"What the op `example` should compute, here twice its input.\"\"\"\n\n\n"
         "def reference(x):\n    return 2.0 * x\n";
}

std::string example_kernel_text() {
  return "extern \"C\" __global__ void vector_add(const float* a, const float* b, float* c, int n) "
         "{\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i < n) c[i] = a[i] + b[i];\n}\n";
}

std::string example_reference_text() {
  return "\"\"\"What the kernel vector_add should compute.\"\"\"\n\n\n"
         "def reference(a, b):\n    return a + b\n";
}

ProposedKernel example_kernel() {
  std::string why;
  return *propose(scan_kernels(example_kernel_text()).front(), "kernels/vector_add.cu", why);
}

std::string github_text() {
  return R"(name: gpuemu
on: [push, pull_request]
jobs:
  kernels:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      # Fails where gpuemu is not installed on the runner or in the container.
      - run: gpuemu --version
      - run: gpuemu config check
      # Tests, limits of the compiled code, and the comparison with the baseline that
      # `gpuemu baseline save main --file gpuemu-baseline.json` has put into the repository.
      - run: |
          if [ -f gpuemu-baseline.json ]; then baseline='--file gpuemu-baseline.json'; fi
          gpuemu ci --quick ${baseline:-} --report sarif=gpuemu.sarif
)";
}

std::string gitlab_text() {
  return R"(gpuemu:
  script:
    # Fails where gpuemu is not installed on the runner or in the image.
    - gpuemu --version
    - gpuemu config check
    # Tests, limits of the compiled code, and the comparison with the baseline that
    # `gpuemu baseline save main --file gpuemu-baseline.json` has put into the repository.
    - if [ -f gpuemu-baseline.json ]; then baseline='--file gpuemu-baseline.json'; fi
    - gpuemu ci --quick ${baseline:-} --report sarif=gpuemu.sarif
  artifacts:
    when: always
    paths: [gpuemu.sarif]
)";
}

std::string gitignore_text() { return "__pycache__/\ngpuemu.sarif\n"; }

}  // namespace gpuemu::cli
