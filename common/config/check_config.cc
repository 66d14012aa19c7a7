// Checks that involve several keys: names, files, defaults that depend on other keys.
#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "common/config/readers.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

template <typename T>
std::vector<std::string> names_of(const std::vector<T>& rows) {
  std::vector<std::string> names;
  for (const T& row : rows) names.push_back(row.name);
  return names;
}

void check_duplicates(ReadState& state, const std::vector<std::string>& names,
                      const std::string& section) {
  std::map<std::string, size_t> first;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    const auto [at, is_new] = first.emplace(names[i], i);
    if (is_new) continue;
    const Place place = state.place_of(fmt::format("{}[{}].name", section, at->second));
    state.problem_at(fmt::format("{}[{}].name", section, i),
                     fmt::format("'{}' is already the name of {}[{}] in line {}; names are unique, "
                                 "so give this one another",
                                 names[i], section, at->second, place.line));
  }
}

constexpr const char* kPythonSource =
    " is a Python file, which is measured but not run; save the PTX that its compiler makes and "
    "write source = \"FILE.ptx\" there";

void check_kernel_names(ReadState& state, const Config& config, const OpConfig& op,
                        const OpDraft& draft) {
  for (size_t i = 0; i < op.kernels.size(); ++i) {
    std::string key = fmt::format("{}.kernel[{}]", draft.path, i);
    if (!state.places.contains(key)) key = draft.path + ".kernel";
    const auto found = state.kernels_by_name.find(op.kernels[i]);
    if (found == state.kernels_by_name.end()) {
      const auto known = names_of(config.kernels);
      state.problem_at(key, fmt::format("no [[kernels]] entry is called '{}', {}{}", op.kernels[i],
                                        known_or_none(known), did_you_mean(op.kernels[i], known)));
      continue;
    }
    if (op.mode != ExecutionMode::Kernel) continue;
    const KernelConfig* kernel = &config.kernels[found->second.front()];
    const std::string what =
        fmt::format("kernel '{}' ({}:{})", kernel->name, kernel->file, kernel->line);
    if (kernel->launches.empty()) {
      state.problem_at(key, what +
                                " has no launches, so it cannot run; write launches = [{ entry = "
                                "..., grid = ..., block = ..., args = ... }] there");
    }
    if (kernel->source.empty()) {
      state.problem_at(key,
                       what + " has no source, so it cannot run; write source = \"FILE.cu\" there");
    }
    if (kernel->source.ends_with(".py")) state.problem_at(key, what + kPythonSource);
  }
}

// An op that names a kernel inherits what the kernel's table already sets.
void inherit(const ReadState& state, OpConfig& op, OpDraft& draft, const Config& config,
             const Drafts& drafts) {
  for (const size_t i : state.kernels_called(op.kernels)) {
    const KernelConfig& kernel = config.kernels[i];
    if (op.reference.empty()) {
      op.reference = kernel.reference;
      op.reference_function = kernel.reference_function;
    }
    const OpConfig& data = drafts.kernels[i].data;
    op.invariants_off.insert(op.invariants_off.end(), data.invariants_off.begin(),
                             data.invariants_off.end());
    if (!op.outputs.empty() || data.outputs.empty()) continue;
    op.inputs = data.inputs;
    op.outputs = data.outputs;
    draft.data_path = drafts.kernels[i].path;
    if (op.dims.empty() && op.derived_dims.empty()) {
      op.dims = data.dims;
      op.derived_dims = data.derived_dims;
    }
    if (!op.require) op.require = data.require;
    if (op.attrs.empty()) op.attrs = data.attrs;
    if (op.dtypes.empty()) op.dtypes = data.dtypes;
    if (!op.accumulate) op.accumulate = data.accumulate;
    if (!op.accumulate_dtype) op.accumulate_dtype = data.accumulate_dtype;
    if (op.error_scale == ErrorScale::Auto && op.error_scales.empty()) {
      op.error_scale = data.error_scale;
      op.error_scales = data.error_scales;
    }
    if (!op.strict) op.strict = data.strict;
    if (!op.has_nan_policy && data.has_nan_policy) {
      op.nan_policy = data.nan_policy;
      op.has_nan_policy = op.nan_policy_given = true;
    }
    if (op.subnormal == SubnormalPolicy::Note) op.subnormal = data.subnormal;
    op.deterministic = op.deterministic && data.deterministic;
    if (!op.exact) op.exact = data.exact;
    if (!op.max_elements) op.max_elements = data.max_elements;
    if (!op.layouts_given && data.layouts_given) {
      op.layouts = data.layouts;
      op.layouts_given = true;
    }
  }
}

// Keys that only a test needs mean that the user wants one; if the test cannot be made, the gate
// must not pass.
bool warn_of_missing_key(ReadState& state, const KernelConfig& kernel, const KernelDraft& draft) {
  const OpConfig& data = draft.data;
  const bool wanted = !data.inputs.empty() || !data.outputs.empty() || !data.dims.empty() ||
                      (!kernel.reference.empty() && !kernel.launches.empty());
  if (!wanted) return false;
  const bool has_launches = !kernel.launches.empty();
  const char* missing = !has_launches ? "launches" : data.outputs.empty() ? "outputs" : "source";
  const char* example = !has_launches          ? "launches = [{ entry = ..., grid = ..., ... }]"
                        : data.outputs.empty() ? "outputs = [{ name = ..., shape = [...] }]"
                                               : "source = \"FILE.cu\"";
  const Place place = state.place_of(draft.path);
  state.warn(
      place, draft.path + "." + missing,
      fmt::format("kernel '{}' is in no test: no op names it, and it has no {}; write {} there, "
                  "or an [[ops]] entry with kernel = \"{}\"",
                  kernel.name, missing, example, kernel.name));
  return true;
}

// A kernel with launches is meant to run.
void warn_of_unused(ReadState& state, const KernelConfig& kernel, const KernelDraft& draft) {
  if (warn_of_missing_key(state, kernel, draft) || kernel.launches.empty()) return;
  const std::string& path = draft.path;
  const Place place = state.place_of(path);
  state.warn(place, path,
             fmt::format("kernel '{}' is in no test: no op names it, and it has no {}; write {} "
                         "there, or an [[ops]] entry with kernel = \"{}\"",
                         kernel.name, kernel.source.empty() ? "source" : "outputs",
                         kernel.source.empty() ? "source = \"FILE.cu\""
                                               : "outputs = [{ name = ..., shape = [...] }]",
                         kernel.name));
}

// A kernel with a source, launches and tensors needs no [[ops]] entry.
void add_ops_of_kernels(ReadState& state, Config& config, Drafts& drafts) {
  std::set<std::string> used;
  for (const OpConfig& op : config.ops) {
    used.insert(op.name);
    used.insert(op.kernels.begin(), op.kernels.end());
  }
  for (size_t i = 0; i < config.kernels.size(); ++i) {
    const KernelConfig& kernel = config.kernels[i];
    const KernelDraft& draft = drafts.kernels[i];
    if (used.contains(kernel.name) || kernel.name.empty()) continue;
    const bool is_tested = !kernel.launches.empty() || !draft.data.outputs.empty();
    if (kernel.source.ends_with(".py") && (is_tested || kernel.source == kernel.reference)) {
      state.problem_at(draft.path + ".source",
                       fmt::format("the source of kernel '{}'{}", kernel.name, kPythonSource));
      continue;
    }
    if (kernel.launches.empty() || kernel.source.empty() || draft.data.outputs.empty()) {
      warn_of_unused(state, kernel, draft);
      continue;
    }
    OpConfig op = draft.data;
    op.name = kernel.name;
    op.reference = kernel.reference;
    op.reference_function = kernel.reference_function;
    op.kernels = {kernel.name};
    op.mode = ExecutionMode::Kernel;
    op.invariants = kernel.invariants;
    op.file = kernel.file;
    op.line = kernel.line;
    op.column = kernel.column;
    op.end_line = kernel.end_line;
    used.insert(op.name);
    config.ops.push_back(std::move(op));
    drafts.ops.push_back({draft.path, draft.path, true});
  }
}

// An inout output is its input, so shape and dtype need not be repeated.
void complete_inout(OpConfig& op) {
  for (TensorSpec& output : op.outputs) {
    if (!output.inout) continue;
    for (const TensorSpec& input : op.inputs) {
      if (input.name != output.name) continue;
      if (output.shape.empty()) output.shape = input.shape;
      output.dtype = input.dtype;
    }
  }
}

/// Returns whether something in the op's kernels depends on the dtype under test.
bool kernels_follow_dtype(const ReadState& state, const OpConfig& op, const Config& config) {
  return std::ranges::any_of(state.kernels_called(op.kernels), [&](size_t position) {
    const KernelConfig& kernel = config.kernels[position];
    const auto asked = kernel.supports ? kernel.supports->names() : std::vector<std::string>();
    if (std::ranges::find(asked, "dtype") != asked.end()) return true;
    return std::ranges::any_of(kernel.launches, [](const LaunchSpec& launch) {
      return launch.entry.find('{') != std::string::npos;
    });
  });
}

/// Returns the dtype of an op without inputs whose outputs all have a fixed integer dtype.
std::optional<DType> integer_output_of(const OpConfig& op) {
  if (!op.inputs.empty() || op.outputs.empty()) return std::nullopt;
  const bool integers = std::ranges::all_of(op.outputs, [](const TensorSpec& output) {
    const auto dtype = dtype_from_alias(output.dtype);
    return dtype && !is_float(*dtype);
  });
  return integers ? dtype_from_alias(op.outputs.front().dtype) : std::nullopt;
}

/// Returns the dtype of an op whose tensors all have fixed dtypes and whose inputs are integers.
/// Tested as a float op, its inputs would be drawn like indices, as small numbers only.
std::optional<DType> integer_dtype_of(const ReadState& state, const OpConfig& op,
                                      const Config& config) {
  std::optional<DType> found;
  const auto look = [&](const TensorSpec& tensor, bool is_input) {
    const auto dtype = dtype_from_alias(tensor.dtype);
    if (!dtype) return false;  // It follows the dtype under test.
    if (!is_input) return true;
    if (!found && *dtype != DType::Bool) found = *dtype;
    return !is_float(*dtype);
  };
  const bool fixed =
      std::ranges::all_of(op.inputs, [&](const TensorSpec& input) { return look(input, true); }) &&
      std::ranges::all_of(op.outputs,
                          [&](const TensorSpec& output) { return look(output, output.inout); });
  if (!fixed || kernels_follow_dtype(state, op, config)) return std::nullopt;
  return found ? found : integer_output_of(op);
}

void fill_defaults(const ReadState& state, OpConfig& op, const Config& config) {
  if (op.dtypes.empty()) {
    const auto own = integer_dtype_of(state, op, config);
    op.dtypes = own ? std::vector{*own} : config.dtypes;
  }
  if (!op.kernels.empty()) set_default_nan_policy(op);
  if (op.input_names.empty()) {
    for (const TensorSpec& input : op.inputs) op.input_names.push_back(input.name);
  }
}

void check_policy(ReadState& state, const Config& config) {
  const auto known_ops = names_of(config.ops);
  for (const auto& [op_name, kernel] : config.kernel_policy) {
    const std::string key = "runtime.kernel_policy." + op_name;
    const OpConfig* op = config.find_op(op_name);
    if (op == nullptr) {
      const Place place = state.place_of(key);
      const std::string message =
          fmt::format("no op is called '{}', {}{}", op_name, known_or_none(known_ops),
                      did_you_mean(op_name, known_ops));
      // A user file may hold policies for ops of several projects.
      if (place.file == config.file) {
        state.problem_at(key, message);
      } else {
        state.warn(place, key, "has no effect: " + message);
      }
    } else if (std::ranges::find(op->kernels, kernel) == op->kernels.end()) {
      state.problem_at(key,
                       fmt::format("op '{1}' has no kernel '{0}', {2}{3}", kernel, op_name,
                                   known_or_none(op->kernels), did_you_mean(kernel, op->kernels)));
    }
  }
}

/// Suggests only the file's name if a missing file is found beside gpuemu.toml.
std::string file_instead_of(const std::string& path, const std::string& folder) {
  const std::string name = std::filesystem::path(path).filename().string();
  std::error_code failed;
  const auto is_file = [&](const std::string& beside) {
    return std::filesystem::is_regular_file(std::filesystem::path(folder) / beside, failed);
  };
  if (is_file(name)) return fmt::format("; did you mean '{}'?", name);
  // Python and entry points of packages name a module so.
  if (const size_t colon = name.find(':'); colon != std::string::npos) {
    const std::string script = name.substr(0, colon) + ".py";
    if (is_file(script)) {
      return fmt::format("; did you mean '{}:{}'?", script, name.substr(colon + 1));
    }
  }
  return "; create it, or correct the path, which starts at the folder of gpuemu.toml";
}

void check_file(ReadState& state, const std::string& key, const std::string& path,
                const std::string& folder) {
  // Files refused by the key of another layer have no path.
  if (path.empty() || path.starts_with("builtin:") || !state.places.contains(key)) return;
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (std::filesystem::is_regular_file(status)) return;
  if (std::filesystem::exists(status)) {
    return state.problem_at(
        key,
        fmt::format("'{}' is {}, expected a file", path,
                    std::filesystem::is_directory(status) ? "a folder" : "not a regular file"));
  }
  if (const auto at = path.find_first_of("\t\n\r"); at != std::string::npos) {
    const char* escape = path[at] == '\t' ? "\\t" : path[at] == '\n' ? "\\n" : "\\r";
    return state.problem_at(
        key,
        fmt::format("file '{}{}{}' does not exist: in double quotes {} is one character; write "
                    "folders with '/'",
                    path.substr(0, at), escape, path.substr(at + 1), escape));
  }
  state.problem_at(key,
                   fmt::format("file '{}' does not exist{}", path, file_instead_of(path, folder)));
}

void check_script(ReadState& state, const std::string& key, const std::string& path,
                  const std::string& folder) {
  const std::string ending = std::filesystem::path(path).extension().string();
  const bool is_kernel = ending == ".cu" || ending == ".cuh" || ending == ".ptx";
  if (!is_kernel || !state.places.contains(key)) return check_file(state, key, path, folder);
  state.problem_at(key, fmt::format("'{}' is a kernel, expected a Python script that computes what "
                                    "the kernel should",
                                    path));
}

void check_all_files(ReadState& state, const Config& config, const Drafts& drafts) {
  for (size_t i = 0; i < config.include_dirs.size(); ++i) {
    const std::string key = fmt::format("runtime.include_dirs[{}]", i);
    std::error_code failed;
    if (!state.places.contains(key) ||
        std::filesystem::is_directory(config.include_dirs[i], failed)) {
      continue;
    }
    const Place place = state.place_of(key);
    state.warn(place, key,
               fmt::format("folder '{}' does not exist; create it, or correct the path",
                           config.include_dirs[i]));
  }
  for (size_t i = 0; i < config.ops.size(); ++i) {
    check_script(state, drafts.ops[i].path + ".reference", config.ops[i].reference, config.folder);
    check_script(state, drafts.ops[i].path + ".op_script", config.ops[i].op_script, config.folder);
  }
  std::set<std::string> op_paths;
  for (const OpDraft& op : drafts.ops) op_paths.insert(op.path);
  for (size_t i = 0; i < config.kernels.size(); ++i) {
    check_file(state, drafts.kernels[i].path + ".source", config.kernels[i].source, config.folder);
    if (op_paths.contains(drafts.kernels[i].path)) {
      continue;  // Its reference was checked with the op.
    }
    check_script(state, drafts.kernels[i].path + ".reference", config.kernels[i].reference,
                 config.folder);
  }
}

}  // namespace

void check_config(ReadState& state, Config& config, Drafts& drafts, bool check_files) {
  check_duplicates(state, names_of(config.ops), "ops");
  check_duplicates(state, names_of(config.kernels), "kernels");
  for (size_t i = 0; i < config.kernels.size(); ++i) {
    state.kernels_by_name[config.kernels[i].name].push_back(i);
  }
  for (size_t i = 0; i < config.ops.size(); ++i) {
    OpConfig& op = config.ops[i];
    check_kernel_names(state, config, op, drafts.ops[i]);
    inherit(state, op, drafts.ops[i], config, drafts);
    if (op.mode == ExecutionMode::Kernel && op.kernels.empty()) {
      state.problem_at(drafts.ops[i].path + ".execution_mode",
                       "'kernel' without a kernel, write kernel = \"NAME\" too");
    }
    if (op.mode == ExecutionMode::ScriptBased && op.op_script.empty() &&
        !state.places.contains(drafts.ops[i].path + ".op_script")) {
      state.problem_at(drafts.ops[i].path + ".execution_mode",
                       "'script_based' without an op script, so there is nothing to run; write "
                       "op_script = \"FILE.py\" too");
    }
    if (!op.reference_function.empty() && op.reference_mode == ReferenceMode::Process) {
      state.problem_at(drafts.ops[i].path + ".reference_mode",
                       fmt::format("'process' runs a script as a whole, but reference names its "
                                   "function '{}'; keep one of them",
                                   op.reference_function));
    }
    // A kernel can be tested without one: by relations, invariants and the device's checks.
    if (op.reference.empty() && op.mode != ExecutionMode::Kernel &&
        !state.places.contains(drafts.ops[i].path + ".reference")) {
      state.problem_at(drafts.ops[i].path + ".reference",
                       "missing, expected the path of the reference script; or kernel = \"NAME\" "
                       "where the op has a kernel");
    }
  }
  add_ops_of_kernels(state, config, drafts);
  for (size_t i = 0; i < config.ops.size(); ++i) {
    complete_inout(config.ops[i]);
    fill_defaults(state, config.ops[i], config);
    widen_ranges(config.ops[i]);
    settle_layouts(state, config, config.ops[i], drafts.ops[i]);
    check_op_names(state, config, config.ops[i], drafts.ops[i], drafts);
    check_answers(state, config.ops[i], drafts.ops[i]);
    check_smallest_case(state, config, config.ops[i], drafts.ops[i]);
  }
  check_policy(state, config);
  if (check_files) check_all_files(state, config, drafts);
}

}  // namespace gpuemu
