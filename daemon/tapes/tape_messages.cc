#include "daemon/tapes/tape_messages.h"

namespace gpuemu {
namespace {

template <typename Wire>
void fields(Wire& wire, TapeAsk::Operand& one) {
  wire::members(wire, one.number, one.shape, one.dtype);
}

template <typename Wire>
void pass(Wire& wire, TapeAsk& ask) {
  wire::members(wire, ask.kind, ask.freed, ask.number);
  fields(wire, ask.made);
  wire::members(wire, ask.offset, ask.bytes, ask.data, ask.id, ask.op, ask.attrs, ask.seq,
                ask.seed);
  wire.list(ask.inputs, [](Wire& to, TapeAsk::Operand& one) { fields(to, one); });
}

template <typename Wire>
void pass(Wire& wire, TapeAnswer& answer) {
  wire::members(wire, answer.is_error, answer.failure.code, answer.failure.message, answer.data);
}

template <typename T>
std::vector<std::byte> encode(T& record) {
  wire::Writer out;
  pass(out, record);
  return out.take();
}

template <typename T>
Result<T> decode(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  wire::Reader reader(in);
  T record;
  pass(reader, record);
  GPUEMU_TRY(reader.end());
  return record;
}

}  // namespace

std::vector<std::byte> encode_ask(TapeAsk ask) { return encode(ask); }
Result<TapeAsk> decode_ask(std::span<const std::byte> bytes) { return decode<TapeAsk>(bytes); }
std::vector<std::byte> encode_answer(TapeAnswer answer) { return encode(answer); }
Result<TapeAnswer> decode_answer(std::span<const std::byte> bytes) {
  return decode<TapeAnswer>(bytes);
}

}  // namespace gpuemu
