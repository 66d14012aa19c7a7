// Numbers the files, so that two tensors never share one; both programs read the same case.
#include "cli/export/export_folder.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/export/npy.h"
#include "cli/export/programs.h"

namespace gpuemu::cli {
namespace {

using Json = nlohmann::json;

constexpr size_t kNameCharsMax = 40;
constexpr size_t kSourcePartsMax = 8;  // Folders below that of the kernel.

bool is_harmless(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

/// Returns the path of a source below kernel/; "" if a part of it could lead elsewhere.
std::string source_path(const std::string& name) {
  const std::filesystem::path path(name);
  if (path.empty() || path.is_absolute()) return "";
  std::filesystem::path made("kernel");
  size_t parts = 0;
  for (const std::filesystem::path& part : path) {
    const std::string text = part.string();
    const bool plain = std::ranges::all_of(text, [](char c) { return is_harmless(c) || c == '.'; });
    if (!plain || text.empty() || text.front() == '.' || ++parts > kSourcePartsMax) return "";
    made /= part;
  }
  return made.string();
}

/// The files with the values of a tensor; "" for values that it does not have.
struct TensorFiles {
  std::string input, expected, bounds;
};

/// Adds the tensor's values to the files.
TensorFiles add_values(const ExportedCaseReply& exported, size_t index,
                       std::map<std::string, std::string>& files) {
  const std::string& name = exported.tensors[index].name;
  const std::string file = fmt::format("{:02}_{}.npy", index, safe_name(name));
  const auto add = [&](const NamedTensors& values, const std::string& folder) -> std::string {
    const auto found = values.find(name);
    if (found == values.end()) return "";
    files[folder + "/" + file] = npy_text(found->second);
    return folder + "/" + file;
  };
  return {add(exported.inputs, "inputs"), add(exported.expected, "expected"),
          add(exported.bounds, "bounds")};
}

std::string finding_of(const ExportedCaseReply& exported) {
  if (exported.result.failures.empty()) return "nothing";
  const ValidationFailure& first = exported.result.failures.front();
  return fmt::format("{}: {}", name_of(first.kind), first.message);
}

Json tensor_json(const ExportedTensor& tensor, const TensorFiles& files) {
  Json json = {{"name", tensor.name},
               {"role", name_of(tensor.role)},
               {"dtype", name_of(tensor.dtype)},
               {"shape", tensor.shape},
               {"strides", tensor.strides},
               {"storage_elements", tensor.storage_elements},
               {"first_element", tensor.first_element},
               {"base_offset_bytes", tensor.base_offset_bytes},
               {"input", files.input},
               {"expected", files.expected},
               {"bounds", files.bounds}};
  if (tensor.edge) json["edge"] = *tensor.edge;
  if (!tensor.nan_policy.empty()) json["nan_policy"] = tensor.nan_policy;
  return json;
}

Json launch_json(const ExportedLaunch& launch) {
  Json args = Json::array();
  for (const ExportedArg& arg : launch.args) {
    Json one = {{"text", arg.text}};
    if (!arg.tensor.empty()) {
      one["tensor"] = arg.tensor;
      if (arg.offset_bytes > 0) one["offset_bytes"] = arg.offset_bytes;
    } else {
      one["bytes"] = Json::array();
      for (const std::byte byte : arg.bytes) one["bytes"].push_back(std::to_integer<int>(byte));
    }
    args.push_back(std::move(one));
  }
  Json json = {{"entry", launch.entry},
               {"grid", launch.grid},
               {"block", launch.block},
               {"shared_bytes", launch.shared_bytes},
               {"args", std::move(args)}};
  if (!launch.cluster.empty()) json["cluster"] = launch.cluster;
  return json;
}

std::string case_json(const ExportedCaseReply& exported, const std::vector<TensorFiles>& files) {
  Json json = {{"op", exported.result.op_name},
               // As text, because a double would round it.
               {"seed", std::to_string(exported.result.seed)},
               {"kernel", exported.kernel},
               {"finding", finding_of(exported)},
               {"exported_by", "gpuemu " + exported.version},
               {"arch", exported.arch},
               {"nan_policy", exported.nan_policy},
               {"tensors", Json::array()},
               {"launches", Json::array()}};
  for (size_t i = 0; i < exported.tensors.size(); ++i) {
    json["tensors"].push_back(tensor_json(exported.tensors[i], files[i]));
  }
  for (const ExportedLaunch& launch : exported.launches) {
    json["launches"].push_back(launch_json(launch));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

template <typename T>
std::string c_list(const std::vector<T>& values) {
  std::string text = "{";
  for (const T value : values) text += fmt::format("{}{}", text.size() > 1 ? ", " : "", value);
  return text + "}";
}

/// Returns the enumerator in run.cc: "NanPolicy::Match" for "match".
std::string cpp_policy(std::string name) {
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') {
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
  }
  return "NanPolicy::" + name;
}

std::string tensor_cpp(const ExportedTensor& tensor, const std::string& nan_policy,
                       const TensorFiles& files) {
  return fmt::format("        {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n",
                     c_string(tensor.name), c_string(std::string(name_of(tensor.role))),
                     c_string(std::string(name_of(tensor.dtype))), c_list(tensor.shape),
                     c_list(tensor.strides), tensor.storage_elements, tensor.first_element,
                     tensor.base_offset_bytes, tensor.edge.value_or(0),
                     cpp_policy(tensor.nan_policy.empty() ? nan_policy : tensor.nan_policy),
                     c_string(files.input), c_string(files.expected), c_string(files.bounds));
}

std::string launch_cpp(const ExportedLaunch& launch, const std::vector<ExportedTensor>& tensors) {
  std::string args;
  for (const ExportedArg& arg : launch.args) {
    const auto at = std::ranges::find(tensors, arg.tensor, &ExportedTensor::name);
    std::vector<int> bytes;
    for (const std::byte byte : arg.bytes) bytes.push_back(std::to_integer<int>(byte));
    args +=
        fmt::format("          {{{}, {}, {}}},\n", at == tensors.end() ? -1 : at - tensors.begin(),
                    c_list(bytes), arg.offset_bytes);
  }
  const std::vector<uint32_t> none{0, 0, 0};
  return fmt::format("        {{{}, {}, {}, {}, {}, {{\n{}        }}}},\n", c_string(launch.entry),
                     c_list(launch.grid), c_list(launch.block),
                     c_list(launch.cluster.empty() ? none : launch.cluster), launch.shared_bytes,
                     args);
}

std::string case_header(const ExportedCaseReply& exported, const std::vector<TensorFiles>& files) {
  std::string text = "// The case of this folder, as run.cc reads it. case.json says the same.\n";
  text +=
      fmt::format("static const Case kCase = {{\n    {}, {},\n    {},\n    {{\n",
                  c_string(exported.result.op_name), c_string(std::to_string(exported.result.seed)),
                  c_string(finding_of(exported)));
  for (size_t i = 0; i < exported.tensors.size(); ++i) {
    text += tensor_cpp(exported.tensors[i], exported.nan_policy, files[i]);
  }
  text += "    },\n    {\n";
  for (const ExportedLaunch& launch : exported.launches) {
    text += launch_cpp(launch, exported.tensors);
  }
  return text + "    },\n};\n";
}

constexpr const char* kMakefile =
    "run: run.cc case.h\n"
    "\t$(CXX) -std=c++17 -O1 run.cc -o run -ldl\n"
    "\n"
    "check: run\n"
    "\t./run\n";

constexpr const char* kReadme = R"(# A failing case of the kernel `{kernel}`

Found by gpuemu {version}: op `{op}`, seed {seed}.

    {finding}

Run it, in this folder:

    make check                        # C++: needs a CUDA driver (libcuda.so.1), no toolkit
    python3 run.py                    # Python with NumPy: a GPU, else gpuemu's emulator
    python3 run.py --device emulator  # needs gpuemu instead of a GPU

Both print PASS, or FAIL with the first wrong element, and end with 0 when every output is right,
1 when not, 2 when a file is damaged and 3 when there is nothing to run on.

A fault that only changes memory outside of the tensors, a race or a read of memory that nobody
wrote need not show in the values: the GPU's run may pass. The emulator sees those, as it did when
the case was found.

| file | |
| --- | --- |
| `kernel.ptx` | what both programs run |
| `kernel/` | its source, if known, to be read; `nvcc -ptx` makes a changed one kernel.ptx |
| `case.json`, `case.h` | tensors with their layout in memory, launches: grid, block, arguments |
| `inputs/` | the elements of each input, row-major |
| `expected/` | what the reference says, in float64 and not rounded to the output's type |
| `bounds/` | how far each element may lie from that |

{values}Two runs are made, on memory that holds other garbage before; both must be right.
)";

std::string readme(const ExportedCaseReply& exported) {
  const auto line = [](std::string text) {  // The first line of a message.
    std::ranges::replace(text, '\n', ' ');
    return text;
  };
  const bool narrow = std::ranges::any_of(exported.tensors, [](const ExportedTensor& tensor) {
    return tensor.dtype == DType::BFloat16;
  });
  return fmt::format(
      fmt::runtime(kReadme), fmt::arg("kernel", line(exported.kernel)),
      fmt::arg("version", exported.version), fmt::arg("op", line(exported.result.op_name)),
      fmt::arg("seed", exported.result.seed), fmt::arg("finding", line(finding_of(exported))),
      fmt::arg("values", narrow ? "bfloat16 is kept as uint16 with the same bits. " : ""));
}

}  // namespace

std::string safe_name(const std::string& name) {
  std::string safe = name.substr(0, kNameCharsMax);
  for (char& c : safe) c = is_harmless(c) ? c : '_';
  return safe;
}

std::string c_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return out + "\"";
}

std::string exported_json(const ExportedCaseReply& exported, const std::string& folder,
                          const std::vector<std::string>& files) {
  const Json json = {{"folder", folder},
                     {"op_name", exported.result.op_name},
                     {"seed", exported.result.seed},
                     {"finding", finding_of(exported)},
                     {"files", files}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::map<std::string, std::string> export_files(const ExportedCaseReply& exported) {
  std::map<std::string, std::string> files;
  std::vector<TensorFiles> values;
  for (size_t i = 0; i < exported.tensors.size(); ++i) {
    values.push_back(add_values(exported, i, files));
  }
  for (const auto& [name, text] : exported.sources) {
    const std::string path = source_path(name);
    if (!path.empty()) files[path] = text;
  }
  files["kernel.ptx"] = exported.ptx;
  files["case.json"] = case_json(exported, values);
  files["case.h"] = case_header(exported, values);
  files["run.cc"] = export_cpp_program();
  files["run.py"] = export_python_program();
  files["Makefile"] = kMakefile;
  files["README.md"] = readme(exported);
  return files;
}

}  // namespace gpuemu::cli
