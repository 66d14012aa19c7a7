#include "cli/scaffold/project_text.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

namespace gpuemu::cli {
namespace {

/// Returns the text as a basic string of TOML.
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

std::string list_of(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  for (const std::string& text : texts) items.push_back(quoted(text));
  return fmt::format("[{}]", joined(items));
}

/// Returns a shape if no trial was possible: matrices of a product are recognized by the names of
/// their sizes; otherwise all tensors have the same shape.
std::string usual_shape(const ProposedKernel& kernel, size_t tensor) {
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
    return list_of({sizes[tensor].first, sizes[tensor].second});
  }
  if (dims.size() > 2) dims.resize(2);
  return list_of(dims);
}

std::string header_text(const ProjectText& project) {
  std::string text = fmt::format("[project]\nname = {}\n", quoted(project.name));
  if (!project.include_dirs.empty()) {
    text += fmt::format("\n[runtime]\ninclude_dirs = {}\n", list_of(project.include_dirs));
  }
  return text + "\n[validation]\nseed = 42\n";
}

std::string usual_range(size_t dims) {
  return dims <= 2 ? "[1, 300]" : dims == 3 ? "[1, 60]" : "[1, 12]";
}

std::string tensor_text(const ProposedKernel& kernel, const ProposedParam& tensor, size_t number) {
  std::string text =
      fmt::format("{{ name = {}, shape = {}, dtype = {}", quoted(tensor.name),
                  tensor.shape.empty() ? usual_shape(kernel, number) : list_of(tensor.shape),
                  quoted(tensor.dtype));
  if (!tensor.range.empty()) text += ", range = " + tensor.range;
  if (tensor.distinct) text += ", distinct = true";
  if (tensor.sorted) text += ", sorted = true";
  if (!tensor.init.empty()) text += ", init = " + tensor.init;
  if (tensor.any_order) text += ", any_order = true";
  return text + " }";
}

std::string attr_text(const ProposedParam& attr) {
  const bool real = attr.dtype.starts_with("float");
  const std::string values = !attr.values.empty() ? attr.values : real ? "[0.5, 0.25]" : "[1, 7]";
  return fmt::format("{} = {{ type = {}, values = {} }}", attr.name, quoted(attr.dtype), values);
}

std::string launch_text(const ProposedKernel& kernel, const std::vector<std::string>& args) {
  const ProposedLaunch& launch = kernel.launch();
  const std::string shared =
      launch.shared.empty() ? "" : fmt::format(", shared = {}", quoted(launch.shared));
  return fmt::format("launches = [\n  {{ entry = {}, grid = {}, block = {}{}, args = [{}] }},\n]\n",
                     quoted(kernel.entry), list_of(launch.grid), list_of(launch.block), shared,
                     joined(args));
}

/// Describes results that need not be repeatable.
std::string determinism_text(const ProposedKernel& kernel) {
  if (std::ranges::any_of(kernel.params, &ProposedParam::any_order)) {
    return "deterministic = false  # The order of the elements is not fixed.\n";
  }
  if (kernel.deterministic) return "";
  return "deterministic = false  # Atomics add floats in no fixed order,\n"
         "subnormal = \"ftz_ok\"     # and take subnormal ones for zero.\n";
}

/// Returns why a failure may say nothing about the kernel; "" if it does.
std::string guess_of(const ProposedKernel& kernel) {
  std::string text = kernel.guess;
  for (const std::string& doubt : kernel.doubts) text += (text.empty() ? "" : " ") + doubt;
  return text;
}

std::string kernel_text(const ProposedKernel& kernel) {
  std::vector<std::string> inputs, outputs, scratch, dims, attrs, args;
  size_t tensors = 0;
  std::string group;  // The structure of the last argument.
  for (const ProposedParam& param : kernel.params) {
    const bool tensor = param.role == ParamRole::Input || param.role == ParamRole::Output ||
                        param.role == ParamRole::InOut;
    const std::string spec = tensor ? tensor_text(kernel, param, tensors++) : "";
    if (param.role == ParamRole::Input || param.role == ParamRole::InOut) inputs.push_back(spec);
    if (param.role == ParamRole::Output) (param.scratch ? scratch : outputs).push_back(spec);
    if (param.role == ParamRole::InOut) {
      outputs.push_back(fmt::format("{{ name = {}, inout = true }}", quoted(param.name)));
    }
    if (param.role == ParamRole::Attr) attrs.push_back(attr_text(param));
    const std::string arg = quoted(tensor ? param.name : param.tag + ":" + param.name);
    if (param.group.empty()) {
      args.push_back(arg);
    } else if (param.group == group) {
      args.back().insert(args.back().size() - 1, ", " + arg);
    } else {
      args.push_back("[" + arg + "]");
    }
    group = param.group;
  }
  std::vector<std::string> symbols;
  for (const ProposedSymbol& one : kernel.symbols) {
    inputs.push_back(fmt::format("{{ name = {}, shape = [\"{}\"], dtype = {} }}", quoted(one.input),
                                 one.elements, quoted(one.dtype)));
    symbols.push_back(fmt::format("{} = {}", one.variable, quoted(one.input)));
  }
  std::vector<std::string> names = kernel.dims();
  for (const auto& [dim, values] : kernel.sizes) {
    if (std::ranges::find(names, dim) == names.end()) {
      names.push_back(dim);
    }
  }
  for (const std::string& dim : names) {
    const auto known = kernel.sizes.find(dim);
    dims.push_back(dim + " = " +
                   (known == kernel.sizes.end() ? usual_range(names.size()) : known->second));
  }
  for (const auto& [dim, value] : kernel.follows) dims.push_back(dim + " = " + quoted(value));
  std::string text = "\n";
  for (const std::string& note : kernel.notes) text += "# " + note + "\n";
  if (!kernel.launch().origin.empty()) {
    text += fmt::format("# Launched as in {}.\n", kernel.launch().origin);
  }
  text += fmt::format("[[kernels]]\nname = {}\nsource = {}\nreference = {}\n", quoted(kernel.name),
                      quoted(kernel.source), quoted(reference_path(kernel)));
  const std::string guess = guess_of(kernel);
  if (!guess.empty()) {
    text += "# Delete this line once you have checked the others: failing tests repeat it.\n";
    text += fmt::format("guess = {}\n", quoted(guess));
  }
  text += fmt::format("inputs = [{}]\noutputs = [{}]\n", joined(inputs), joined(outputs));
  if (!scratch.empty()) {
    text += fmt::format("scratch = [{}]  # Nobody compares it.\n", joined(scratch));
  }
  if (!dims.empty()) text += fmt::format("dims = {{ {} }}\n", joined(dims));
  if (!kernel.require.empty()) text += fmt::format("require = {}\n", quoted(kernel.require));
  if (!attrs.empty()) text += fmt::format("attrs = {{ {} }}\n", joined(attrs));
  if (!symbols.empty()) text += fmt::format("symbols = {{ {} }}\n", joined(symbols));
  if (!kernel.dtypes.empty()) text += fmt::format("dtypes = {}\n", list_of(kernel.dtypes));
  if (!kernel.accumulate.empty()) {
    text += fmt::format("accumulate = {}\n", quoted(kernel.accumulate));
  }
  return text + determinism_text(kernel) + launch_text(kernel, args);
}

}  // namespace

std::string reference_path(const ProposedKernel& kernel) {
  return "scripts/ref_" + kernel.name + ".py";
}

std::string config_text(const ProjectText& project, const std::vector<ProposedKernel>& kernels,
                        const std::vector<LeftOut>& left_out) {
  std::string text = header_text(project);
  if (!kernels.empty()) {
    text +=
        "\n# Proposed by `gpuemu init`, which ran each kernel on the emulator to see what it reads "
        "and "
        "writes.\n# Compare shapes, sizes, grid and block with how your program launches it, and "
        "write the references:\n# until then values are not judged.\n";
  }
  for (const ProposedKernel& kernel : kernels) text += kernel_text(kernel);
  if (!left_out.empty()) text += "\n# Left out:\n";
  for (const std::string& one : told(left_out)) text += fmt::format("# {}\n", one);
  return text;
}

std::string reference_text(const ProposedKernel& kernel) {
  std::vector<std::string> names, results;
  for (const ProposedParam& param : kernel.params) {
    if (param.role != ParamRole::Output && param.role != ParamRole::Null) {
      names.push_back(param.name);
    }
    const bool is_output = param.role == ParamRole::Output && !param.scratch;
    if (is_output || param.role == ParamRole::InOut) {
      results.push_back(param.name);
    }
  }
  for (const ProposedSymbol& one : kernel.symbols) names.push_back(one.input);
  // Sizes that the kernel does not get: of the grid, and of tables that indices choose from.
  std::set<std::string> sizes;
  for (const std::string& dim : kernel.dims()) sizes.insert(dim);
  for (const auto& [dim, values] : kernel.sizes) sizes.insert(dim);
  for (const std::string& dim : sizes) {
    if (std::ranges::find(names, dim) == names.end()) names.push_back(dim);
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
  ProposedKernel made =
      propose(scan_kernels(example_kernel_text()).front(), {}, "kernels/vector_add.cu", why)
          .front();
  for (ProposedParam& param : made.params) {
    if (param.role != ParamRole::Dim) {
      param.shape = {"n"};
    }
  }
  return made;
}

std::string gitignore_text() { return "__pycache__/\ngpuemu.sarif\ngpuemu-reports/\n"; }

}  // namespace gpuemu::cli
