#include "cli/proposals/guess_launch.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"
#include "cli/cuda_text/types.h"
#include "cli/proposals/block_threads.h"
#include "cli/proposals/coordinates.h"
#include "cli/proposals/host_names.h"
#include "cli/proposals/index_shapes.h"
#include "cli/proposals/tails.h"

namespace gpuemu::cli {
namespace {

// Blocks for a kernel that loops over its data with any number of blocks: so few that it takes
// several steps at the sizes that are tried.
constexpr int64_t kBlocksEnough = 4;

bool is_number(const std::string& text) {
  static const RE2 kNumber(R"(-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fF]?)");
  return RE2::FullMatch(text, kNumber);
}

/// Returns the number of threads as a product: "256 * 4".
std::string product(const std::vector<std::string>& factors) {
  std::string text;
  for (const std::string& factor : factors) {
    const bool sum = factor.find_first_of("+-/%") != std::string::npos && !factor.ends_with(")");
    text += (text.empty() ? "" : " * ") + (sum ? "(" + factor + ")" : factor);
  }
  return text;
}

/// Returns "2048" for "256" and 8, "n * 8" for "n" and 8.
std::string times(const std::string& text, int64_t factor) {
  if (factor == 1) return text;
  if (!is_number(text)) return fmt::format("{} * {}", text, factor);
  return std::to_string(std::stoll(text) * factor);
}

/// Limits the grid of a launch with a constant number of blocks to as many as needed.
void limit_grid(const std::string& body, const ProposedKernel& kernel, ProposedLaunch& launch) {
  if (launch.grid.size() != 1 || !is_number(launch.grid[0])) return;
  if (std::stoll(launch.grid[0]) <= kBlocksEnough || body.find("gridDim.x") == body.npos) return;
  const std::vector<std::string> dims = kernel.dims();
  if (dims.empty()) return;
  launch.grid = {
      fmt::format("min({}, cdiv({}, {}))", kBlocksEnough, product(dims), product(launch.block))};
}

/// Returns whether a loop steps by all threads of the grid.
bool has_grid_stride(const std::string& body) {
  static const RE2 kVariable(R"((\w+)=(?:blockDim\.x\*gridDim\.x|gridDim\.x\*blockDim\.x)[;,])");
  const std::string tight = without_space(body);
  if (RE2::PartialMatch(tight, R"(\+=\(?(?:blockDim\.x\*gridDim\.x|gridDim\.x\*blockDim\.x))")) {
    return true;
  }
  std::string name;
  return RE2::PartialMatch(tight, kVariable, &name) && tight.find("+=" + name) != std::string::npos;
}

/// Returns whether every block would do the same: the text reads the thread's number and nothing
/// that may tell blocks apart, such as a function or a macro of the source.
bool is_for_one_block(const std::string& body, const Definitions& known) {
  static const RE2 kCalled(R"(([A-Za-z_]\w*)\s*\()"), kMacro(R"(\b([A-Z][A-Z_0-9]+)\b)"),
      kBuiltIn(
          "if|for|while|switch|return|sizeof|min|max|__(syncthreads|syncwarp|shfl).*|"
          "(sqrt|exp|log|fmax|fmin|fabs|rsqrt|pow|sin|cos|tanh|erf)f?");
  const auto has = [&](const char* part) { return body.find(part) != std::string::npos; };
  if (!has("threadIdx.x") || has("blockIdx") || has("grid") || has("asm")) return false;
  re2::StringPiece rest(body);
  std::string name;
  while (RE2::FindAndConsume(&rest, kCalled, &name)) {
    if (!RE2::FullMatch(name, kBuiltIn)) return false;
  }
  rest = body;
  while (RE2::FindAndConsume(&rest, kMacro, &name)) {
    if (name != "INFINITY" && !known.constants.contains(name)) return false;
  }
  return true;
}

/// Replaces block sizes that only the caller of the host code knows by numbers, because the grid is
/// often computed from them. `known` has the values of the instance.
HostLaunch with_threads(const HostLaunch& host, const SourceKernel& source,
                        const Definitions& known, const ProposedKernel& kernel) {
  static const RE2 kName(R"([A-Za-z_]\w*)");
  const HostNames names(host, source, known, kernel);
  const std::vector<std::string> guess = guessed_block(source, known, host.block.size() > 1);
  HostLaunch out = host;
  for (size_t axis = 0; axis < host.block.size(); ++axis) {
    const std::string& text = host.block[axis];
    std::vector<std::string> unknown;
    static_cast<void>(names.text_of(text, unknown));
    for (const std::string& name : unknown) {
      const bool is_whole = name == text || guess.size() == 1;
      // Otherwise it is all threads, and an axis is a part of them: "block_size / 32".
      out.locals.try_emplace(
          name, is_whole && axis < guess.size() ? guess[axis] : std::to_string(kThreadsUsual));
    }
    // A variable whose value is not a variable itself: "size = chosen.value".
    const auto local = host.locals.find(text);
    const bool is_other = local != host.locals.end() && !unknown.empty() &&
                          local->second.find('.') != std::string::npos && axis < guess.size();
    if (is_other && RE2::FullMatch(text, kName)) out.locals[text] = guess[axis];
  }
  return out;
}

std::optional<ProposedLaunch> launch_from_host(const HostLaunch& written,
                                               const SourceKernel& source,
                                               const SourceContext& context,
                                               const Instance& instance,
                                               const ProposedKernel& kernel) {
  Definitions known = context.definitions;
  for (const auto& [name, value] : instance.values) known.constants[name] = value;
  const HostLaunch host = with_threads(written, source, known, kernel);
  const HostNames names(host, source, context.definitions, kernel);
  ProposedLaunch made;
  for (const std::string& size : host.grid) {
    const auto text = names.text_of(size, made.grid_dims);
    if (!text) return std::nullopt;
    made.grid.push_back(*text);
  }
  std::vector<std::string> unused;
  for (const std::string& size : host.block) {
    const auto text = names.text_of(size, unused);
    if (text) made.block.push_back(*text);
    if (text && unused.empty()) continue;
    // The size is known only at run time; for a loop over a row any size works.
    if (host.block.size() > 1 || source.body.find("blockDim.x") == std::string::npos) {
      return std::nullopt;
    }
    made.block = guessed_block(source, context.definitions, false);
    unused.clear();
  }
  if (!host.shared.empty() && host.shared != "0") {
    const auto text = names.text_of(host.shared, unused);
    if (!text) return std::nullopt;
    made.shared = *text;
  }
  if (!unused.empty() || made.grid.empty() || made.block.empty()) return std::nullopt;
  for (std::vector<std::string>* sizes : {&made.grid, &made.block}) {
    while (sizes->size() > 1 && sizes->back() == "1") {
      sizes->pop_back();
    }
  }
  made.origin = fmt::format("{}:{}", host.file, host.line);
  std::vector<std::string> texts = made.block;
  texts.push_back(made.shared);
  made.follows = names.computed(texts);
  limit_grid(source.body, kernel, made);
  return made;
}

/// Notes which sizes host code rounds up to whole blocks, and whether it checks or passes
/// multiples. One launch that does neither is enough.
void note_rounding(const HostLaunch& host, const SourceKernel& source, const Definitions& known,
                   const ProposedLaunch& made, ProposedKernel& kernel) {
  const HostNames names(host, source, known, kernel);
  for (const std::string& dim : kernel.dims()) {
    const int64_t block = block_of(dim, made);
    if (block == 1) continue;
    auto& noted = names.checks_multiples(dim, block)  ? kernel.whole_blocks
                  : names.passes_multiple(dim, block) ? kernel.sample_blocks
                                                      : kernel.rounded_up;
    noted.emplace(dim, made.origin);
  }
}

/// Returns whether the grid divides a size and ignores the remainder: "n / 256".
bool leaves_remainder(const std::vector<std::string>& grid) {
  static const RE2 kQuotient(R"((?:/|>>) \d+)");
  return std::ranges::any_of(
      grid, [](const std::string& text) { return RE2::PartialMatch(text, kQuotient); });
}

/// Takes the numbers that host code passes, for parameters that are attrs or may turn out to be.
void take_values(const HostLaunch& host, const SourceKernel& source, ProposedKernel& kernel) {
  for (size_t i = 0; i < host.args.size() && i < source.params.size(); ++i) {
    const auto param =
        std::ranges::find(kernel.params, source.params[i].name, &ProposedParam::written);
    if (param == kernel.params.end() || is_tensor(*param) || !param->values.empty()) continue;
    std::string number = host.args[i];
    if (!is_number(number)) continue;
    const bool is_whole = number.find_first_not_of("-0123456789") == std::string::npos;
    if (param->role == ParamRole::Dim && !is_whole) continue;
    if (number.back() == 'f' || number.back() == 'F') number.pop_back();
    if (number.starts_with(".")) number = "0" + number;
    if (number.ends_with(".")) number += "0";
    param->values = "[" + number + "]";
  }
}

/// Returns the bytes of an element; for an unknown type, those of the widest usual type.
uint32_t shared_bytes_of(const std::string& type, const Definitions& definitions) {
  constexpr uint32_t kUnknown = 8;
  const ElementType known = element_type(type, definitions);
  // Byte arrays are usually divided into arrays of other types.
  if (known.dtype.empty() || known.dtype.ends_with("int8") || known.dtype == "bool") {
    return kUnknown;
  }
  return known.lanes * (known.dtype.ends_with("64") ? 8 : known.dtype.ends_with("32") ? 4 : 2);
}

/// Returns the bytes of `extern __shared__ TYPE name[]` with one element for each thread of the
/// block.
std::string dynamic_shared(const std::string& body, const std::vector<std::string>& block,
                           const Definitions& definitions) {
  static const RE2 kDeclaration(
      R"(extern\s+(?:\w+\s*\(\s*\d+\s*\)\s*)?__shared__\s+(?:\w+\s*\(\s*\d+\s*\)\s*)?)"
      R"(((?:unsigned\s+|signed\s+|long\s+)*[A-Za-z_][\w:]*)\s+\w+\s*\[\s*\])");
  std::string type;
  if (!RE2::PartialMatch(body, kDeclaration, &type)) return {};
  return fmt::format("{} * {}", product(block), shared_bytes_of(type, definitions));
}

/// Returns whether each block works on its own row: its number occurs alone or multiplied by a
/// size.
bool is_row_per_block(const std::string& body, const std::vector<std::string>& dims) {
  const std::string text = without_space(body);
  const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  if (has("=blockIdx.x;") || has("[blockIdx.x]") || has("=blockIdx.x,")) return true;
  return std::ranges::any_of(dims, [&](const std::string& dim) {
    return has("blockIdx.x*" + dim) || has("blockIdx.x)*" + dim) || has(dim + "*blockIdx.x");
  });
}

/// Returns the size below which the number of the block along `axis` is: C for `(n * C + c)` with
/// `c = blockIdx.x`; "" if no index shows one.
std::string size_of_blocks(const std::string& body, char axis, const ProposedKernel& kernel) {
  const std::string text = without_space(body);
  for (const auto& [name, value] : declared_values(body)) {
    if (without_space(value) != fmt::format("blockIdx.{}", axis)) continue;
    for (const ProposedParam& param : kernel.params) {
      const std::string added = R"(\*)" + RE2::QuoteMeta(param.written) + R"(\+)" + name + R"(\b)";
      if (param.role == ParamRole::Dim && RE2::PartialMatch(text, added)) return param.name;
    }
  }
  return {};
}

/// Returns the size that counts the rows: one that the body does not read and only the launch
/// needs, else one whose rows the block's number selects, else the first one.
std::string rows_of(const std::string& body, const ProposedKernel& kernel) {
  const std::vector<std::string> dims = kernel.dims();
  for (const ProposedParam& param : kernel.params) {
    if (param.role == ParamRole::Dim && find_word(body, param.written) == std::string::npos) {
      return param.name;
    }
  }
  const std::string of_blocks = size_of_blocks(body, 'x', kernel);
  return of_blocks.empty() ? dims.front() : of_blocks;
}

/// Rewrites an expression of the kernel's text in terms of its sizes. Returns nothing if it
/// contains anything else, or no size.
std::optional<std::string> text_in_sizes(const std::string& written, const std::string& body,
                                         const Definitions& known, const ProposedKernel& kernel) {
  const auto term = parse_c(written, known);
  if (!term) return std::nullopt;
  const std::map<std::string, std::string> declared = declared_values(body);
  const auto plain = resolved(*term, [&](const std::string& name) -> std::optional<Term> {
    if (param_written(kernel, name) != nullptr) return std::nullopt;
    const auto local = declared.find(name);
    if (local != declared.end()) return parse_c(local->second, known);
    const auto constant = known.constants.find(name);
    return constant == known.constants.end() ? std::nullopt : parse_c(constant->second, known);
  });
  if (!plain) return std::nullopt;
  Term out = simplified(*plain);
  for (const std::string& name : names_in(out)) {
    const ProposedParam* param = param_written(kernel, name);
    if (param == nullptr || param->role != ParamRole::Dim) return std::nullopt;
    out = with_name(out, {Term::Kind::Name, name, 0, {}}, param->name);
  }
  return names_in(out).empty() ? std::nullopt : std::optional(to_text(out));
}

/// Returns each expression that the kernel's text computes from sizes, such as the height of a
/// convolution's output.
std::vector<std::string> computed_sizes(const std::string& body, const Definitions& known,
                                        const ProposedKernel& kernel) {
  static const RE2 kQuotient(R"(\w+ / \d+|cdiv\(\w+, \d+\))");
  std::vector<std::string> texts;
  for (const auto& [name, value] : declared_values(body)) {
    const auto text = text_in_sizes(value, body, known, kernel);
    // A product of sizes is not a size. Quotients are tried anyway, after whole sizes: a kernel
    // that loads four elements at once has no shape of four columns.
    if (!text || text->find_first_of("+-/(") == std::string::npos) continue;
    if (RE2::FullMatch(*text, kQuotient)) continue;
    if (std::ranges::find(texts, *text) == texts.end()) texts.push_back(*text);
  }
  // In the order in which tensors nest them: that of the first size in each text.
  const std::vector<std::string> dims = kernel.dims();
  std::ranges::stable_sort(texts, {}, [&](const std::string& text) {
    const auto first = std::ranges::min_element(
        dims, {}, [&](const std::string& dim) { return find_word(text, dim); });
    return first - dims.begin();
  });
  return texts;
}

std::string unique_dim(const std::string& wanted, const ProposedKernel& kernel) {
  std::string name = wanted;
  while (std::ranges::find(kernel.params, name, &ProposedParam::name) != kernel.params.end()) {
    name += "_";
  }
  return name;
}

/// Returns a grid with one thread for each element of all dims, of blocks of so many elements.
std::vector<std::string> usual_grid(const std::vector<std::string>& dims,
                                    const std::vector<std::string>& elements) {
  if (dims.empty()) return {"1"};
  if (elements.size() > 1 && dims.size() > 1) {
    return {fmt::format("cdiv({}, {})", dims[1], elements[0]),
            fmt::format("cdiv({}, {})", dims[0], elements[1])};
  }
  return {fmt::format("cdiv({}, {})", product(dims), product(elements))};
}

/// Adds a launch with a thread for each element of a row, if the text compares no index with the
/// row's length: a block of another size would leave elements out, or go past the row.
void add_row_threads(const SourceKernel& source, const Definitions& definitions,
                     const ProposedKernel& kernel, std::vector<ProposedLaunch>& all) {
  const auto has = [&](const char* part) { return source.body.find(part) != std::string::npos; };
  if (has("threadIdx.y") || !has("blockIdx.x")) return;
  std::vector<std::string> sizes;
  for (const ProposedParam& param : kernel.params) {
    if (param.role == ParamRole::Dim && !has_tail_check(kernel, param.name)) {
      sizes.push_back(param.written);
    }
  }
  const auto row = threads_of_row(source.body, sizes);
  if (!row) return;
  ProposedLaunch made = all.back();
  const std::string size = param_written(kernel, row->size)->name;
  made.block = {row->each == 1 ? size : fmt::format("{} / {}", size, row->each)};
  made.shared = dynamic_shared(source.body, made.block, definitions);
  made.grid_dims.clear();
  const std::string rows = rows_of(source.body, kernel);
  if (rows == size) made.grid_dims = {unique_dim("rows", kernel)};
  made.grid = {rows == size ? made.grid_dims[0] : rows};
  // No guess of the number of threads is as good.
  const auto guessed = std::ranges::find(all, std::string(), &ProposedLaunch::origin);
  all.insert(guessed, std::move(made));
}

/// Adds the same launch with the sizes of its two axes exchanged, because the text of a kernel
/// without comparisons does not tell a matrix's width from its height.
void add_exchanged(const std::vector<std::string>& dims, std::vector<ProposedLaunch>& all) {
  static const RE2 kTile(R"(, (\d+)\)$)");
  std::string x, y;
  const std::vector<std::string>& grid = all.back().grid;
  if (dims.size() < 2 || grid.size() != 2 || !RE2::PartialMatch(grid[0], kTile, &x) ||
      !RE2::PartialMatch(grid[1], kTile, &y) || grid != usual_grid(dims, {x, y})) {
    return;
  }
  ProposedLaunch other = all.back();
  other.grid = usual_grid({dims[1], dims[0]}, {x, y});
  all.push_back(std::move(other));
}

}  // namespace

bool is_stride_name(const std::string& name) {
  static const RE2 kName(R"((?i).*stride.*|.*pitch.*|ld[a-z]?|ld[a-z]?_.*|s\d{1,2})");
  return RE2::FullMatch(name, kName);
}

ProposedLaunch launch_from_body(const SourceKernel& original, const Instance& instance,
                                const Definitions& definitions, const ProposedKernel& kernel) {
  SourceKernel source = original;
  source.body = with_plain_blocks(with_plain_threads(original.body));
  Definitions known = definitions;
  for (const auto& [name, value] : instance.values) known.constants[name] = value;
  const auto in_sizes = [&](const std::string& written) {
    return text_in_sizes(written, source.body, known, kernel);
  };
  ProposedLaunch made;
  const bool plane = source.body.find("threadIdx.y") != std::string::npos;
  made.block = guessed_block(source, known, plane);
  const BlockTile tile = tile_of(source.body, known);
  const std::vector<std::string>& elements = tile.elements.empty() ? made.block : tile.elements;
  const std::vector<std::string> dims = kernel.dims();
  const bool row_per_block = is_row_per_block(source.body, dims);
  constexpr std::array kAxes = {'x', 'y', 'z'};
  bool known_axes = true;
  for (const char axis : kAxes) {
    const auto place = coordinate_of(source.body, axis, known, in_sizes);
    if (!place) break;
    const size_t index = made.grid.size();
    const std::string threads = index < elements.size() ? elements[index] : "1";
    if (!place->bound.empty() && (place->uses_thread || place->is_warp)) {
      const std::string all = times(threads, place->each);
      made.grid.push_back(place->is_warp ? fmt::format("cdiv({} * 32, {})", place->bound, threads)
                                         : fmt::format("cdiv({}, {})", place->bound, all));
      made.each = std::max(made.each, place->each);
    } else if (!place->bound.empty() && !row_per_block) {
      made.grid.push_back(place->bound);
    } else if (row_per_block && axis == 'x' &&
               (dims.size() <= 1 || is_stride_name(rows_of(source.body, kernel)))) {
      made.grid_dims = {unique_dim("rows", kernel)};
      made.grid.push_back(made.grid_dims[0]);
    } else if (row_per_block && axis == 'x' && dims.size() > 1) {
      made.grid.push_back(rows_of(source.body, kernel));
    } else if (axis != 'x' && place->bound.empty() && !place->uses_thread) {
      made.grid.push_back(size_of_blocks(source.body, axis, kernel));
      if (!made.grid.back().empty()) continue;
      // The program may choose any number, because the kernel does not limit it.
      made.grid_dims.push_back(unique_dim(fmt::format("blocks_{}", axis), kernel));
      made.grid.back() = made.grid_dims.back();
    } else {
      known_axes = false;
      break;
    }
  }
  if (!known_axes || made.grid.empty()) {
    made.grid.clear();
    made.grid_dims.clear();
    made.grid = usual_grid(dims, elements);
    const bool has_blocks = source.body.find("blockIdx.x") != std::string::npos;
    if (dims.empty() && has_blocks) made.grid = made.grid_dims = {unique_dim("blocks", kernel)};
    if (is_for_one_block(source.body, known)) made.grid = {"1"};
  }
  if (made.grid.size() == 1 && !dims.empty() && has_grid_stride(source.body)) {
    made.grid = {fmt::format("min({}, {})", kBlocksEnough, made.grid[0])};
  }
  made.shared = dynamic_shared(source.body, made.block, known);
  return made;
}

ProposedLaunch launch_of_block(const std::vector<std::string>& block,
                               const ProposedKernel& kernel) {
  return {.grid = usual_grid(kernel.dims(), block), .block = block};
}

std::vector<ProposedLaunch> guess_launches(const SourceKernel& source, const Instance& instance,
                                           const SourceContext& context, ProposedKernel& kernel) {
  std::vector<ProposedLaunch> all;
  for (const HostLaunch* host : instance.launches) {
    take_values(*host, source, kernel);
    if (auto made = launch_from_host(*host, source, context, instance, kernel)) {
      note_rounding(*host, source, context.definitions, *made, kernel);
      all.push_back(*made);
    }
  }
  // A launch that leaves a remainder out belongs to sizes that another branch of host code selects.
  std::ranges::stable_partition(
      all, [](const ProposedLaunch& one) { return !leaves_remainder(one.grid); });
  all.push_back(launch_from_body(source, instance, context.definitions, kernel));
  add_exchanged(kernel.dims(), all);
  // Host code's launches need it, too.
  for (ProposedLaunch& one : all) one.each = all.back().each;
  kernel.computed = computed_sizes(source.body, context.definitions, kernel);
  kernel.index_shapes = index_shapes(source.body, context.definitions, kernel);
  // Use one block for each row if the text does not determine the grid.
  const std::vector<std::string> dims = kernel.dims();
  if (dims.size() > 1 && source.body.find("blockIdx.x") != std::string::npos) {
    ProposedLaunch rows = all.back();
    rows.grid = {rows_of(source.body, kernel)};
    rows.grid_dims.clear();
    all.push_back(std::move(rows));
  }
  add_row_threads(source, context.definitions, kernel, all);
  return all;
}

}  // namespace gpuemu::cli
