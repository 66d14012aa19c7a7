#include "runtime/ptx/declaration.h"

#include <algorithm>
#include <array>
#include <bit>

#include "runtime/ptx/constant.h"
#include "runtime/ptx/limits.h"

namespace gpuemu::ptx {
namespace {

struct SpaceRow {
  std::string_view directive;
  Space space;
};
constexpr auto kSpaces = std::to_array<SpaceRow>({
    {".global", Space::Global},
    {".shared", Space::Shared},
    {".shared::cta", Space::Shared},
    {".local", Space::Local},
    {".const", Space::Const},
    {".param", Space::Param},
    {".reg", Space::Reg},
    {".tex", Space::Global},
});

// Textures and surfaces are represented by handles of 8 bytes.
bool is_opaque(std::string_view name) {
  return name == "texref" || name == "samplerref" || name == "surfref";
}

Result<uint32_t> parse_align(Cursor& in) {
  const Location where = in.peek().where;
  const uint64_t align = GPUEMU_TRY(in.constant("the alignment"));
  if (!std::has_single_bit(align) || align > kAlignMax) {
    return in.error_at(where, "alignment {}; expected a power of two up to {}", align, kAlignMax);
  }
  return static_cast<uint32_t>(align);
}

bool is_unsized(const Variable& variable) {
  return std::ranges::find(variable.dims, 0u) != variable.dims.end();
}

Status set_bytes(Cursor& in, Variable& variable) {
  uint64_t bytes = byte_size(variable.type);
  for (const uint64_t dim : variable.dims) {
    if (dim != 0 && bytes > kVariableBytesMax / dim) {
      return in.error_at(variable.where, "'{}' has more than {} bytes, the limit", variable.name,
                         kVariableBytesMax);
    }
    bytes *= std::max<uint64_t>(dim, 1);
  }
  variable.bytes = is_unsized(variable) ? 0 : bytes;
  return {};
}

}  // namespace

std::optional<Space> space_from_directive(std::string_view directive) {
  for (const SpaceRow& row : kSpaces) {
    if (row.directive == directive) return row.space;
  }
  return {};
}

namespace {

/// Skips "(.unified(1, 2), .managed)".
Result<bool> attributes_have(Cursor& in, std::string_view wanted) {
  Cursor ahead = in;
  GPUEMU_TRY(in.skip_parentheses());
  bool found = false;
  while (ahead.peek().text.data() != in.peek().text.data()) found |= ahead.take().text == wanted;
  return found;
}

}  // namespace

Result<Declaration> parse_declaration(Cursor& in, Space space) {
  Declaration declaration;
  declaration.space = space;
  while (in.peek().kind == TokenKind::Directive) {
    const Token token = in.take();
    const std::string_view name = token.text.substr(1);
    if (name == "align") {
      // After .ptr it is the alignment of the memory pointed to, not of the parameter.
      const uint32_t align = GPUEMU_TRY(parse_align(in));
      if (!declaration.ptr) declaration.align = align;
    } else if (name == "attribute") {
      declaration.is_managed |= GPUEMU_TRY(attributes_have(in, ".managed"));
    } else if (name == "ptr") {
      declaration.ptr = true;
    } else if (name == "v2" || name == "v4" || name == "v8") {
      declaration.vector = static_cast<uint32_t>(name[1] - '0');
    } else if (is_opaque(name)) {
      declaration.type = Type::B64;
    } else if (const auto type = type_from_name(name)) {
      declaration.type = *type;
    } else if (!space_from_directive(token.text)) {
      return in.error_at(token.where,
                         "unknown '{}' in a declaration; expected .align, a vector or a type",
                         token.text);
    }
  }
  if (declaration.type == Type::None) return in.unexpected("a type such as .b32 before the name");
  return declaration;
}

Result<std::vector<Variable>> parse_declarator(Cursor& in, const Declaration& declaration,
                                               uint64_t& budget) {
  Variable variable;
  variable.where = in.peek().where;
  variable.name = GPUEMU_TRY(in.word("the name of a variable"));
  variable.space = declaration.space;
  variable.type = declaration.type;
  variable.is_extern = declaration.is_extern;
  variable.is_managed = declaration.is_managed;
  variable.ptr = declaration.ptr;
  uint64_t copies = 0;
  if (in.accept('<')) {
    copies = GPUEMU_TRY(in.count_below(kVariableRangeMax + 1, "a count of variables"));
    GPUEMU_TRY(in.expect('>', "after the count"));
  }
  while (in.accept('[')) {
    if (variable.dims.size() >= kDimensionsMax) {
      return in.error_at(variable.where, "'{}' has more than {} dimensions, the limit",
                         variable.name, kDimensionsMax);
    }
    uint64_t dim = 0;
    if (!in.is(']') || !variable.dims.empty()) {
      const Location where = in.peek().where;
      const bool negative = in.is('-');
      dim = GPUEMU_TRY(in.constant("the size of a dimension"));
      if (negative && static_cast<int64_t>(dim) < 0) {
        return in.error_at(where, "'{}' has a dimension of {} elements; expected 0 or more",
                           variable.name, static_cast<int64_t>(dim));
      }
    }
    variable.dims.push_back(dim);
    GPUEMU_TRY(in.expect(']', "after the size of a dimension"));
  }
  if (declaration.vector > 1) variable.dims.push_back(declaration.vector);
  variable.align =
      declaration.align != 0 ? declaration.align : byte_size(declaration.type) * declaration.vector;
  GPUEMU_TRY(set_bytes(in, variable));
  const uint64_t count = std::max<uint64_t>(copies, 1);
  if (count > budget) {
    return in.error_at(variable.where,
                       "more than {} variables and parameters in a module, the limit",
                       kVariablesMax);
  }
  budget -= count;
  if (copies == 0) return std::vector<Variable>{variable};
  std::vector<Variable> all(copies, variable);
  for (uint64_t i = 0; i < copies; ++i) all[i].name += std::to_string(i);
  return all;
}

namespace {

// Fills `variable.init` from nested braces. Positions count elements of the variable's type.
class Initialiser {
 public:
  Initialiser(Cursor& in, Variable& variable, uint64_t& budget)
      : in_(in), variable_(variable), budget_(budget), width_(byte_size(variable.type)) {}

  Status parse() {
    growing_ = is_unsized(variable_);
    if (!growing_) GPUEMU_TRY(reserve(variable_.bytes));
    GPUEMU_TRY(value(0, 0));
    if (!growing_) return {};
    variable_.bytes = variable_.init.size();
    uint64_t inner = width_;
    for (size_t i = 1; i < variable_.dims.size(); ++i) inner *= variable_.dims[i];
    if (inner != 0) variable_.dims[0] = (variable_.bytes + inner - 1) / inner;
    variable_.bytes = variable_.dims[0] * inner;
    return reserve(variable_.bytes);
  }

 private:
  Status reserve(uint64_t bytes) {
    if (bytes <= variable_.init.size()) return {};
    const uint64_t more = bytes - variable_.init.size();
    if (more > budget_) {
      return in_.error_at(variable_.where,
                          "the initialisers of this module exceed {} bytes, the limit",
                          kInitialiserBytesMax);
    }
    budget_ -= more;
    variable_.init.resize(bytes);
    return {};
  }

  // Returns the elements of one sub-array whose indices start at dimension `depth`.
  uint64_t stride(size_t depth) const {
    uint64_t elements = 1;
    for (size_t i = depth; i < variable_.dims.size(); ++i) elements *= variable_.dims[i];
    return elements;
  }

  Status value(size_t depth, uint64_t position) {
    if (!in_.is('{')) return scalar(position);
    const Location where = in_.peek().where;
    if (depth > variable_.dims.size()) {
      return in_.error_at(where, "braces nest deeper than the {} dimensions of '{}'",
                          variable_.dims.size(), variable_.name);
    }
    in_.take();
    bool first = true;
    while (!in_.accept('}')) {
      if (!first) GPUEMU_TRY(in_.expect(',', "or '}' in the initialiser"));
      if (!first && in_.accept('}')) break;
      first = false;
      const bool nested = in_.is('{');
      GPUEMU_TRY(value(depth + 1, position));
      position += nested ? stride(depth + 1) : 1;
    }
    return {};
  }

  Result<std::byte*> slot(uint64_t position) {
    const uint64_t offset = position * width_;
    if (position > kVariableBytesMax || (!growing_ && offset + width_ > variable_.init.size())) {
      return in_.error_at(in_.peek().where, "more values than the {} bytes of '{}' hold",
                          variable_.bytes, variable_.name);
    }
    GPUEMU_TRY(reserve(offset + width_));
    return variable_.init.data() + offset;
  }

  void store(std::byte* to, uint64_t bits) const {
    for (uint32_t i = 0; i < width_; ++i) {
      to[i] = i < 8 ? static_cast<std::byte>(bits >> (8 * i)) : std::byte{0};
    }
  }

  Status scalar(uint64_t position) {
    if (in_.peek().kind == TokenKind::String) return string(position);
    if (in_.peek().kind == TokenKind::Word && !starts_constant(in_)) return symbol(position);
    std::byte* to = GPUEMU_TRY(slot(position));
    const Location where = in_.peek().where;
    const Number number =
        GPUEMU_TRY(parse_constant(in_, "a number, a string or a name in the initialiser"));
    if (in_.is('(')) return masked(position, number.bits, where);
    store(to, pattern(number));
    return {};
  }

  // Converts a float to the width of the variable, and an integer for a float variable likewise.
  uint64_t pattern(const Number& number) const {
    const bool wide = variable_.type == Type::F64;
    const bool narrow = variable_.type == Type::F32;
    if (number.float_bits == 0 && !wide && !narrow) return number.bits;
    if (number.float_bits == 32 && !wide) return number.bits;
    double value = number.is_unsigned ? static_cast<double>(number.bits)
                                      : static_cast<double>(std::bit_cast<int64_t>(number.bits));
    if (number.float_bits == 64) value = std::bit_cast<double>(number.bits);
    if (number.float_bits == 32) value = std::bit_cast<float>(static_cast<uint32_t>(number.bits));
    if (narrow) return std::bit_cast<uint32_t>(static_cast<float>(value));
    return std::bit_cast<uint64_t>(value);
  }

  Status string(uint64_t position) {
    for (const char c : in_.peek().text) {
      std::byte* to = GPUEMU_TRY(slot(position++));
      store(to, static_cast<unsigned char>(c));
    }
    in_.take();
    return {};
  }

  // Parses sym, sym+4, generic(sym), generic(sym)+4 or generic(sym+4).
  Status symbol(uint64_t position) {
    GPUEMU_TRY(slot(position));
    Variable::Relocation relocation;
    relocation.offset = position * width_;
    relocation.bytes = static_cast<uint32_t>(width_);
    GPUEMU_TRY(address(relocation));
    variable_.relocations.push_back(std::move(relocation));
    return {};
  }

  // Parses 0xFF00(sym), which compilers emit for a pointer stored among bytes.
  Status masked(uint64_t position, uint64_t mask, Location where) {
    if (mask == 0) return in_.error_at(where, "a mask of 0; expected bits of an address");
    Variable::Relocation relocation;
    relocation.offset = position * width_;
    relocation.bytes = static_cast<uint32_t>(width_);
    relocation.mask = mask;
    GPUEMU_TRY(in_.expect('(', "before the name"));
    GPUEMU_TRY(address(relocation));
    GPUEMU_TRY(in_.expect(')', "after the name"));
    variable_.relocations.push_back(std::move(relocation));
    return {};
  }

  Status address(Variable::Relocation& relocation) {
    std::string_view name = GPUEMU_TRY(in_.word("a name"));
    if (in_.accept('(')) {
      if (name != "generic") {
        return in_.error_at(in_.peek().where, "'{}(...)' in an initialiser; expected generic(name)",
                            name);
      }
      relocation.generic = true;
      name = GPUEMU_TRY(in_.word("the name of a variable in generic(...)"));
      GPUEMU_TRY(addend(relocation));
      GPUEMU_TRY(in_.expect(')', "after the name"));
    }
    GPUEMU_TRY(addend(relocation));
    relocation.symbol = name;
    return {};
  }

  Status addend(Variable::Relocation& relocation) {
    if (!in_.is('+') && !in_.is('-')) return {};
    in_.accept('+');
    const uint64_t more = GPUEMU_TRY(in_.constant("an offset in bytes"));
    relocation.addend = std::bit_cast<int64_t>(std::bit_cast<uint64_t>(relocation.addend) + more);
    return {};
  }

  Cursor& in_;
  Variable& variable_;
  uint64_t& budget_;
  uint64_t width_;
  bool growing_ = false;
};

}  // namespace

Status parse_initialiser(Cursor& in, Variable& variable, uint64_t& budget) {
  if (!in.accept('=')) return {};
  return Initialiser(in, variable, budget).parse();
}

}  // namespace gpuemu::ptx
