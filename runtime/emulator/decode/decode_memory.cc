// Decodes ld, st, cvta, isspacep and other address instructions.
#include <algorithm>
#include <array>
#include <bit>

#include "runtime/emulator/decode/decoders.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Space;
using ptx::Type;
namespace {

const char* type_key(Type type) {
  switch (ptx::byte_size(type)) {
    case 1:
      return type == Type::S8 ? "s8" : "u8";
    case 2:
      return type == Type::S16 ? "s16" : "u16";
    case 4:
      return "u32";
    case 8:
      return "u64";
    default:
      return "";
  }
}

std::string space_key(Space space) {
  switch (space) {
    case Space::Shared:
      return "shared.";
    case Space::Local:
      return "local.";
    case Space::Global:
    case Space::Const:
      return "global.";
    default:
      return "generic.";
  }
}

std::vector<Operand> elements_of(const Operand& operand) {
  return operand.kind == Operand::Kind::Vector ? operand.elements : std::vector<Operand>{operand};
}

/// Returns whether an element in [first, first + bytes) lies where the entry has no parameter.
bool reads_gap(const Code& code, uint64_t first, uint64_t element, uint64_t bytes) {
  for (uint64_t at = first; at < first + bytes; at += element) {
    if (std::ranges::none_of(code.params, [&](const ParamSlot& slot) {
          return at < uint64_t{slot.offset} + slot.bytes && slot.offset < at + element;
        })) {
      return true;
    }
  }
  return false;
}

bool decode_param(Decoder& d, const Instruction& in, const Form& form, bool load) {
  if (*type_key(form.type()) == 0) return false;
  const Operand& where = in.operands[load ? 1 : 0];
  const Operand& base = where.elements.empty() ? where : where.elements[0];
  const ParamSlot* slot = base.kind == Operand::Kind::Variable ? d.param(base.name) : nullptr;
  if (slot == nullptr && !(d.function().is_entry && load)) return false;
  bool own = false;
  for (const ParamSlot& p : d.code().params) own = own || &p == slot;
  const auto elements = elements_of(in.operands[load ? 0 : 1]);
  if (elements.size() != form.vector) return false;
  const RegisterClass width = register_class(form.type());
  std::vector<uint32_t> registers;
  for (const Operand& element : elements) {
    registers.push_back(load ? d.destination(element, width, is_signed(form.type()))
                             : d.source(element, width, form.type()));
  }
  uint32_t dynamic = kNone;
  if (slot == nullptr) dynamic = d.source(base, RegisterClass::Wide, Type::U64);
  const bool of_entry = slot == nullptr || (own && d.function().is_entry);
  // Wraps as addresses do; an offset far outside is reported when the step runs.
  const auto within = slot != nullptr ? slot->offset + static_cast<uint64_t>(base.offset) : 0;
  const auto first = static_cast<int64_t>(static_cast<uint64_t>(where.offset) + within);
  const uint64_t bytes = uint64_t{ptx::byte_size(form.type())} * registers.size();
  const uint64_t area = d.code().param_bytes;
  const bool inside = first >= 0 && bytes <= area && static_cast<uint64_t>(first) <= area - bytes;
  const ParamOperands param{.offset = first,
                            .list = d.list(registers),
                            .count = static_cast<uint8_t>(registers.size()),
                            .element_bytes = static_cast<uint8_t>(ptx::byte_size(form.type())),
                            .is_wide = width == RegisterClass::Wide,
                            .is_signed = is_signed(form.type())};
  if (of_entry && slot != nullptr && inside &&
      !reads_gap(d.code(), static_cast<uint64_t>(first), ptx::byte_size(form.type()), bytes)) {
    Step& step = d.emit(handlers().at(std::string("ld.param.") + type_key(form.type())).run);
    step.operands = param;
    return true;
  }
  Step& step = !load      ? d.emit<steps::store_frame_param>(param)
               : of_entry ? d.emit<steps::load_param>(param)
                          : d.emit<steps::load_frame_param>(param);
  step.src[0] = dynamic;
  return true;
}

/// Converts an address of a cluster's shared memory to a generic one, which can name any block.
uint32_t generic_of_cluster(Decoder& d, uint32_t base, bool wide) {
  uint32_t whole = base;
  if (!wide) {
    whole = d.temp(RegisterClass::Wide);
    Step& extend = d.emit(handlers().at("cvt.u64.u32").run);
    extend.src[0] = base;
    extend.dst = whole;
  }
  const uint32_t window = d.constant(kSharedWindow, true), sum = d.temp(RegisterClass::Wide);
  Step& add = d.emit(handlers().at("add.u64").run);
  add.src = {whole, window, 0, 0};
  add.dst = sum;
  return sum;
}

bool decode_access(Decoder& d, const Instruction& in, const Form& form, bool load) {
  if (in.operands.size() < 2 || form.types.empty()) return false;
  if (form.space == Space::Param) return decode_param(d, in, form, load);
  std::string type = type_key(form.type());
  if (!load && type[0] == 's') type[0] = 'u';
  const bool cluster = form.has(ptx::Modifier::SharedCluster);
  const Space space = cluster ? Space::Generic : form.space;
  const auto found = handlers().find((load ? "ld." : "st.") + space_key(space) + type);
  if (found == handlers().end()) return false;
  const Row& row = found->second;
  const auto elements = elements_of(in.operands[load ? 0 : 1]);
  if (elements.size() != form.vector) return false;
  AccessOperands access;
  uint32_t base = d.address(access, in.operands[load ? 1 : 0]);
  if (cluster) base = generic_of_cluster(d, base, access.is_wide);
  if (cluster) access.is_wide = true;
  std::vector<uint32_t> registers;
  for (const Operand& element : elements) {
    registers.push_back(load ? d.destination(element, row.dst, is_signed(form.type()))
                             : d.source(element, row.dst, form.type()));
  }
  access.list = d.list(registers);
  access.count = static_cast<uint8_t>(registers.size());
  access.bytes = static_cast<uint8_t>(ptx::byte_size(form.type()) * access.count);
  access.space = space;
  access.is_ordered = form.has(ptx::Modifier::Volatile) || form.has(ptx::Modifier::Relaxed) ||
                      form.has(ptx::Modifier::Acquire) || form.has(ptx::Modifier::Release) ||
                      form.has(ptx::Modifier::Mmio) || form.has(ptx::Modifier::Cv) ||
                      form.has(ptx::Modifier::Cg);
  const bool bits = form.type() != Type::F32 && form.type() != Type::F64;
  access.copies_structure = load && form.vector > 1 && bits;
  access.is_read_only = load && form.has(ptx::Modifier::Nc);
  if (load) d.note_repetition(access);
  access.cache = d.program().cached++;
  Step& step = d.emit(row.run);
  step.src[0] = base;
  step.operands = access;
  if (form.space != Space::Local) d.uses_memory(form.space, access.bytes);
  if (load && (form.type() == Type::S8 || form.type() == Type::S16)) {
    for (const uint32_t reg : registers) {
      Step& extend =
          d.emit(handlers().at(form.type() == Type::S8 ? "cvt.s32.s8" : "cvt.s32.s16").run);
      extend.dst = reg;
      extend.src[0] = reg;
    }
  }
  return true;
}

uint64_t window_of(Space space) {
  switch (space) {
    case Space::Shared:
      return kSharedWindow;
    case Space::Local:
      return kLocalWindow;
    case Space::Param:
      return kParamWindow;
    default:
      return 0;
  }
}
}  // namespace

/// Decodes mapa and getctarank.
bool decode_rank(Decoder& d, const Instruction& in, const Form& form) {
  const bool maps = in.opcode == Opcode::Mapa;
  const RegisterClass slot = register_class(form.type());
  if (in.operands.size() != (maps ? 3u : 2u) || form.types.size() != 1) return false;
  const uint32_t from = d.source(in.operands[1], maps ? slot : RegisterClass::Wide, Type::U64);
  const uint32_t rank =
      maps ? d.source(in.operands[2], RegisterClass::Narrow, Type::U32) : kTrueOffset;
  const uint32_t out = d.destination(in.operands[0], maps ? slot : RegisterClass::Narrow);
  const MapSharedOperands map{.window = form.space == Space::Shared ? 0 : kSharedWindow,
                              .is_wide = slot == RegisterClass::Wide};
  Step& step = maps ? d.emit<steps::map_shared>(map) : d.emit(steps::rank_of_shared);
  step.src = {from, rank, 0, 0};
  step.dst = out;
  return true;
}

bool decode_matrix_load(Decoder& d, const Instruction& in, const Form& form) {
  if (in.operands.size() != 2 || !form.has(ptx::Modifier::M8n8) || form.type() != Type::B16) {
    return false;
  }
  std::vector<uint32_t> registers;
  for (const Operand& element : elements_of(in.operands[0])) {
    registers.push_back(d.destination(element, RegisterClass::Narrow));
  }
  if (registers.size() != (form.has(ptx::Modifier::X4)   ? 4u
                           : form.has(ptx::Modifier::X2) ? 2u
                                                         : 1u)) {
    return false;
  }
  AccessOperands access;
  const uint32_t base = d.address(access, in.operands[1]);
  access.list = d.list(registers);
  access.count = static_cast<uint8_t>(registers.size());
  access.is_transposed = form.has(ptx::Modifier::Trans);
  access.cache = d.program().cached++;
  d.emit<steps::load_matrix>(access).src[0] = base;
  d.uses_memory(Space::Shared, 16);
  return true;
}

/// Decodes alloca, stacksave and stackrestore.
bool decode_stack(Decoder& d, const Instruction& in, const Form& form) {
  constexpr uint64_t kAlignDefault = 8, kAlignMax = uint64_t{1} << 23;
  const RegisterClass slot = register_class(form.type());
  const bool takes = in.opcode == Opcode::Alloca, restores = in.opcode == Opcode::Stackrestore;
  if (in.operands.size() < (takes ? 2u : 1u)) return false;
  uint64_t align = kAlignDefault;
  if (in.operands.size() > 2) {
    if (in.operands[2].kind != Operand::Kind::Integer) return false;
    align = std::max(align, in.operands[2].bits);
  }
  if (!std::has_single_bit(align) || align > kAlignMax) return false;
  uint32_t from = kTrueOffset, to = kTrueOffset;
  if (takes || restores) from = d.source(in.operands[takes ? 1 : 0], slot, form.type());
  if (!restores) to = d.destination(in.operands[0], slot);
  const StackOperands stack{.align = align, .is_wide = slot == RegisterClass::Wide};
  Step& step = takes      ? d.emit<steps::take_stack>(stack)
               : restores ? d.emit<steps::restore_stack>(stack)
                          : d.emit<steps::save_stack>(stack);
  step.src[0] = from;
  step.dst = to;
  return true;
}
bool decode_load(Decoder& d, const Instruction& in, const Form& form) {
  return decode_access(d, in, form, true);
}

bool decode_store(Decoder& d, const Instruction& in, const Form& form) {
  if (form.has(ptx::Modifier::Bulk)) return decode_bulk_store(d, in);
  if (form.has(ptx::Modifier::Async)) return decode_async_store(d, in, form);
  return decode_access(d, in, form, false);
}

/// Decodes cvta and isspacep.
bool decode_address_space(Decoder& d, const Instruction& in, const Form& form) {
  if (in.operands.size() < 2) return false;
  const bool to_generic = in.opcode == Opcode::Cvta && !in.has(ptx::Modifier::To);
  const bool test = in.opcode == Opcode::Isspacep;
  const uint32_t value = d.source(in.operands[1], RegisterClass::Wide, Type::U64);
  const uint32_t out =
      d.destination(in.operands[0], test ? RegisterClass::Pred : RegisterClass::Wide);
  const uint64_t window = window_of(form.space);
  if (test) {
    using By = SpaceTestOperands::By;
    Step& step = d.emit<steps::is_space>(
        {.window = window,
         .by = window != 0                  ? By::Window
               : form.space == Space::Const ? By::IsConstant
                                            : By::IsNotConstant,
         .of_block = form.space == Space::Shared && !form.has(ptx::Modifier::SharedCluster)});
    step.src[0] = value;
    step.dst = out;
    return true;
  }
  const uint32_t shift = d.constant(to_generic ? window : uint64_t{0} - window, true);
  Step& step = d.emit(handlers().at(window == 0 ? "mov.u64" : "add.u64").run);
  step.src = {value, shift, 0, 0};
  step.dst = out;
  return true;
}

}  // namespace gpuemu::emulator
