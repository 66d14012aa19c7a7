#include "runtime/emulator/decode/decoders.h"

namespace gpuemu::emulator {
namespace {
using ptx::Opcode;

constexpr ptx::PerOpcode<DecodeFunction> kDecoders({
#define PTX_DECODER(opcode, function) {Opcode::opcode, function},
#include "runtime/emulator/decode/modifiers.def"
});
}  // namespace

const DecodeFunction* decoder_of(Opcode opcode) { return kDecoders.find(opcode); }

}  // namespace gpuemu::emulator
