#include "cli/trials/trial.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>

#include <fmt/core.h>
#include <re2/re2.h>

#include "common/config/expression.h"
#include "common/config/initial_value.h"
#include "common/numeric/element.h"

namespace gpuemu::cli {
namespace {

// Elements of each tensor while its shape is unknown.
constexpr uint64_t kRoomElements = uint64_t{1} << 16;
constexpr int64_t kTrialThreadsMax = int64_t{1} << 20;
// A test runs each case several times with all checks; this limits it to about a second.
constexpr uint64_t kInstructionsMax = 50'000'000;

DType dtype_of(const ProposedKernel& kernel, const std::string& name) {
  const std::string plain = name != "{dtype}"       ? name
                            : kernel.dtypes.empty() ? "float32"
                                                    : kernel.dtypes.front();
  return dtype_from_alias(plain).value_or(DType::Float32);
}

/// Returns the first number of "[0.5, 0.25]".
double first_value(const std::string& values) {
  return values.size() > 1 ? std::strtod(values.c_str() + 1, nullptr) : 0.5;
}

/// Appends to the bytes of a structure, at a multiple of the member's size.
void add_member(const std::vector<std::byte>& member, std::vector<std::byte>& bytes) {
  bytes.resize((bytes.size() + member.size() - 1) / member.size() * member.size());
  bytes.insert(bytes.end(), member.begin(), member.end());
}

/// Returns one element of the tensor's content before the launch; empty if unknown.
std::vector<std::byte> fill_of(const ProposedParam& param, DType dtype) {
  if (param.init.empty()) return {};
  TensorSpec spec{.name = param.name, .shape = {}, .dtype = param.dtype};
  InitialValue& init = spec.init.emplace();
  int64_t whole = 0;
  const char* end = param.init.data() + param.init.size();
  if (std::from_chars(param.init.data(), end, whole).ptr == end) {
    init.value = Expression::constant(whole);
  } else {
    init.real = std::strtod(param.init.c_str(), nullptr);
  }
  auto element = initial_element(spec, dtype, {});
  return element ? *std::move(element) : std::vector<std::byte>();
}

bool is_filled(const std::vector<bool>& changed) { return !changed.empty(); }

uint64_t behind_last(const std::vector<bool>& changed) {
  const auto last = std::find(changed.rbegin(), changed.rend(), true);
  return static_cast<uint64_t>(changed.rend() - last);
}

/// Returns products of some of the sizes, in order: the most frequent sizes of tensors.
std::vector<uint64_t> products_of(const Sizes& sizes) {
  std::set<uint64_t> products = {1};
  for (const auto& [dim, size] : sizes) {
    const std::set<uint64_t> before = products;
    for (const uint64_t product : before) {
      const uint64_t larger = product * static_cast<uint64_t>(std::max<int64_t>(size, 1));
      if (larger < kRoomElements) products.insert(larger);
    }
  }
  return {products.begin(), products.end()};
}

/// Returns the smallest number of elements with which a kernel fits. Tries `likely` first.
template <typename Fits>
uint64_t least_room(const std::vector<uint64_t>& likely, const Fits& fits) {
  const auto enough = std::partition_point(likely.begin(), likely.end(),
                                           [&](uint64_t elements) { return !fits(elements); });
  uint64_t most = enough == likely.end() ? kRoomElements : *enough;
  uint64_t few = enough == likely.begin() ? 0 : *(enough - 1);
  if (most - few > 1 && !fits(most - 1)) return most;
  if (most - few > 1) --most;
  while (most - few > 1) {
    const uint64_t half = few + (most - few) / 2;
    (fits(half) ? most : few) = half;
  }
  return most;
}

std::optional<Dim3> sizes_of(const std::vector<std::string>& texts, const Sizes& sizes) {
  uint32_t out[3] = {1, 1, 1};
  for (size_t axis = 0; axis < texts.size() && axis < 3; ++axis) {
    const auto value = Trial::value_of(texts[axis], sizes);
    if (!value || *value < 1 || *value > kTrialThreadsMax) return std::nullopt;
    out[axis] = static_cast<uint32_t>(*value);
  }
  return Dim3{out[0], out[1], out[2]};
}

}  // namespace

uint64_t Extents::of(const std::string& tensor) const {
  const auto find = [&](const std::map<std::string, uint64_t>& in) {
    const auto found = in.find(tensor);
    return found == in.end() ? uint64_t{0} : found->second;
  };
  return std::max(find(accessed), find(written));
}

std::optional<int64_t> Trial::value_of(const std::string& text, const Sizes& sizes) {
  const auto parsed = Expression::parse(text);
  if (!parsed) return std::nullopt;
  Scope scope;
  scope.integers = sizes;
  scope.strings["dtype"] = "float32";
  const auto value = (*parsed).evaluate(scope);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<ProbeCall> Trial::call(const Sizes& dims) const {
  Sizes sizes = dims;
  for (const auto& [name, text] : kernel_.follows) {
    const auto value = value_of(text, dims);
    if (!value) return std::nullopt;
    sizes.emplace(name, *value);
  }
  ProbeCall made;
  made.entry = entry_;
  const auto grid = sizes_of(launch_.grid, sizes), block = sizes_of(launch_.block, sizes);
  if (!grid || !block) return std::nullopt;
  made.shape.grid = *grid;
  made.shape.block = *block;
  const uint64_t threads = uint64_t{grid->x} * grid->y * grid->z * block->x * block->y * block->z;
  if (threads > static_cast<uint64_t>(kTrialThreadsMax)) return std::nullopt;
  if (!launch_.shared.empty()) {
    const auto bytes = value_of(launch_.shared, sizes);
    if (!bytes || *bytes < 0 || *bytes > (1 << 20)) return std::nullopt;
    made.shape.dynamic_shared_bytes = static_cast<uint32_t>(*bytes);
  }
  std::string group;  // The structure of the last argument.
  std::vector<size_t> alignments;
  for (const ProposedParam& param : kernel_.params) {
    ProbeArg arg;
    if (is_tensor(param)) {
      arg.tensor = static_cast<int>(made.tensors.size());
      made.tensors.push_back({param.name, dtype_of(kernel_, param.dtype), kRoomElements,
                              kRoomElements, kRoomElements});
      made.tensors.back().is_varied = !param.is_const;
      made.tensors.back().fill = fill_of(param, made.tensors.back().dtype);
    } else {
      const auto dtype = dtype_from_alias(param.dtype);
      if (!dtype) return std::nullopt;
      const auto size = sizes.find(param.name);
      const double value =
          size != sizes.end() ? static_cast<double>(size->second) : first_value(param.values);
      arg.bytes.resize(byte_size(*dtype));
      write_from_double(*dtype, value, arg.bytes.data());
      if (!param.group.empty() && param.group == group) {
        add_member(arg.bytes, made.args.back().bytes);
        alignments.back() = std::max(alignments.back(), arg.bytes.size());
        continue;
      }
    }
    group = param.group;
    alignments.push_back(std::max<size_t>(arg.bytes.size(), 1));
    made.args.push_back(std::move(arg));
  }
  for (const ProposedSymbol& one : kernel_.symbols) {
    made.symbols.push_back({one.variable, dtype_of(kernel_, one.dtype), one.elements});
  }
  for (size_t i = 0; i < alignments.size(); ++i) {
    std::vector<std::byte>& bytes = made.args[i].bytes;
    bytes.resize((bytes.size() + alignments[i] - 1) / alignments[i] * alignments[i]);
  }
  return made;
}

std::optional<ProbeSeen> Trial::run(const ProbeCall& call, std::string* problem) {
  auto seen = probe_.run(call);
  if (!seen) {
    if (problem != nullptr) *problem = seen.error().message;
    return std::nullopt;
  }
  return *std::move(seen);
}

bool Trial::runs(const Sizes& sizes, std::string& problem) {
  auto made = call(sizes);
  if (!made) return false;
  // A sum of zeros may equal what an output already holds.
  for (const int64_t index : {0, 1}) {
    for (ProbeTensor& tensor : made->tensors) tensor.index = index;
    bool changes = false;
    for (made->salt = 0; made->salt < 2; ++made->salt) {
      const auto seen = run(*made, &problem);
      if (!seen) return false;
      if (!seen->problem.empty()) {
        problem = seen->problem;
        return false;
      }
      changes = changes || std::ranges::any_of(seen->changed, is_filled);
    }
    if (changes) return true;
  }
  return false;
}

bool Trial::add_changes(const ProbeCall& call, uint32_t salts,
                        std::vector<std::vector<bool>>& changed, std::string* problem) {
  if (!add_changes_with(call, salts, changed, problem)) return false;
  if (std::ranges::any_of(changed, is_filled)) return true;
  // Integers of 0 may change nothing, for example if they are added to the old value. First sets
  // one tensor to 1, since another one may hold indices, and then all.
  const auto is_zero = [](const ProbeTensor& tensor) {
    return !is_float(tensor.dtype) && !tensor.is_varied && tensor.spread == 0 && tensor.index == 0;
  };
  ProbeCall all_ones = call;
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    if (!is_zero(call.tensors[i])) continue;
    all_ones.tensors[i].index = 1;
    ProbeCall one = call;
    one.tensors[i].index = 1;
    const bool ran = add_changes_with(one, salts, changed);
    if (ran && std::ranges::any_of(changed, is_filled)) return true;
    changed.clear();
  }
  return add_changes_with(all_ones, salts, changed, problem);
}

bool Trial::add_changes_with(ProbeCall call, uint32_t salts,
                             std::vector<std::vector<bool>>& changed, std::string* problem) {
  changed.resize(call.tensors.size());
  for (call.salt = 0; call.salt < salts; ++call.salt) {
    const auto seen = run(call, problem);
    if (seen && !seen->problem.empty() && problem != nullptr) *problem = seen->problem;
    if (!seen || !seen->problem.empty()) return false;
    for (size_t i = 0; i < changed.size(); ++i) {
      const std::vector<bool>& now = seen->changed[i];
      changed[i].resize(std::max(changed[i].size(), now.size()));
      for (size_t at = 0; at < now.size(); ++at) {
        if (now[at]) changed[i][at] = true;
      }
    }
  }
  return true;
}

std::optional<Extents> Trial::extents(const Sizes& sizes, const Indices& indices) {
  auto made = call(sizes);
  if (!made) return std::nullopt;
  for (ProbeTensor& tensor : made->tensors) {
    const auto given = indices.find(tensor.name);
    if (given == indices.end()) continue;
    tensor.index = given->second;
    tensor.is_varied = false;
  }
  Extents out;
  std::vector<std::vector<bool>> changed;
  if (!add_changes(*made, 2, changed)) return std::nullopt;
  for (size_t i = 0; i < changed.size(); ++i) {
    out.written[made->tensors[i].name] = behind_last(changed[i]);
  }
  // Finds the smallest memory that contains every access, whatever happens to the values.
  const std::vector<uint64_t> likely = products_of(sizes);
  made->wants_changes = false;
  // All true, then all false: which tensor is read may depend on them.
  const bool has_bools =
      std::ranges::find(made->tensors, DType::Bool, &ProbeTensor::dtype) != made->tensors.end();
  for (ProbeTensor& tensor : made->tensors) {
    const auto fits_in = [&](uint64_t elements) {
      tensor.room = elements;
      for (made->salt = 0; made->salt < (has_bools ? 2 : 1); ++made->salt) {
        const auto seen = run(*made);
        if (!seen || !seen->problem.empty()) return false;
      }
      return true;
    };
    if (!fits_in(0)) out.accessed[tensor.name] = least_room(likely, fits_in);
    tensor.room = kRoomElements;
  }
  return out;
}

void Trial::find_roles(const Sizes& sizes, std::map<std::string, bool>& read_first,
                       std::map<std::string, bool>& partly) {
  auto made = call(sizes);
  std::vector<std::vector<bool>> changed;
  if (!made || !add_changes(*made, 3, changed)) return;
  for (size_t i = 0; i < made->tensors.size(); ++i) {
    const std::string& name = made->tensors[i].name;
    const auto count = static_cast<uint64_t>(std::ranges::count(changed[i], true));
    partly[name] = count < behind_last(changed[i]);
    made->tensors[i].known = 0;
    const auto seen = run(*made);
    read_first[name] = seen && seen->unknown[i];
    made->tensors[i].known = kRoomElements;
  }
}

std::string Trial::misfit(const Sizes& sizes) {
  constexpr const char* kNoLaunch = "its sizes make no launch";
  auto made = call(sizes);
  if (!made) return kNoLaunch;
  for (ProbeTensor& tensor : made->tensors) {
    const auto param = std::ranges::find(kernel_.params, tensor.name, &ProposedParam::name);
    uint64_t elements = 1;
    for (const std::string& text : param->shape) {
      const auto size = value_of(text, sizes);
      if (!size || *size < 0 || *size > (1 << 22)) return kNoLaunch;
      elements *= static_cast<uint64_t>(*size);
      if (elements > (1 << 22)) return "its tensors are too large for a trial";
    }
    if (elements == 0) return kNoLaunch;
    tensor.elements = tensor.known = tensor.room = elements;
    if (param->role == ParamRole::Output && param->init.empty()) tensor.known = 0;
    if (param->range.empty()) continue;
    static const RE2 kHighest(R"re(, "?([^"\]]+)"?\]$)re");
    std::string highest;
    if (!RE2::PartialMatch(param->range, kHighest, &highest)) continue;
    tensor.spread = value_of(highest, sizes).value_or(0) + 1;
  }
  std::vector<std::vector<bool>> changed;
  std::string problem;
  if (!add_changes(*made, 2, changed, &problem)) return problem;
  for (size_t i = 0; i < changed.size(); ++i) {
    const auto param =
        std::ranges::find(kernel_.params, made->tensors[i].name, &ProposedParam::name);
    const bool is_overwritten = param->role == ParamRole::Output && param->init.empty();
    if (is_overwritten && behind_last(changed[i]) < made->tensors[i].elements) {
      return fmt::format("it leaves the last elements of '{}' unwritten", param->name);
    }
  }
  const auto seen = run(*made, &problem);
  if (!seen) return problem;
  if (seen->thread_instructions > kInstructionsMax) return "a case takes long";
  const auto unknown = std::ranges::find(seen->unknown, true);
  if (unknown == seen->unknown.end()) return {};
  const auto at = static_cast<size_t>(unknown - seen->unknown.begin());
  return fmt::format("it uses elements of '{}' that nothing wrote", made->tensors[at].name);
}

}  // namespace gpuemu::cli
