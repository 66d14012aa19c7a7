#include "runtime/emulator/decode/decoders.h"

namespace gpuemu::emulator {
namespace {
using ptx::Opcode;

constexpr ptx::PerOpcode<DecodeFunction> kDecoders({
    {Opcode::Activemask, decode_active_mask},
    {Opcode::Add, decode_carry},
    {Opcode::Addc, decode_carry},
    {Opcode::Alloca, decode_stack},
    {Opcode::Applypriority, decode_nothing},
    {Opcode::Atom, decode_atomic},
    {Opcode::Bar, decode_barrier},
    {Opcode::Barrier, decode_barrier},
    {Opcode::Bra, decode_branch},
    {Opcode::Brkpt, decode_trap},
    {Opcode::Brx, decode_branch},
    {Opcode::Call, decode_call},
    {Opcode::Cp, decode_copies},
    {Opcode::Createpolicy, decode_cache_policy},
    {Opcode::Cvta, decode_address_space},
    {Opcode::Discard, decode_nothing},
    {Opcode::Elect, decode_elect},
    {Opcode::Exit, decode_exit},
    {Opcode::Fence, decode_fence},
    {Opcode::Getctarank, decode_rank},
    {Opcode::Griddepcontrol, decode_nothing},
    {Opcode::Isspacep, decode_address_space},
    {Opcode::Ld, decode_load},
    {Opcode::Ldmatrix, decode_matrix_load},
    {Opcode::Ldu, decode_load},
    {Opcode::Mad, decode_carry},
    {Opcode::Madc, decode_carry},
    {Opcode::Mapa, decode_rank},
    {Opcode::Match, decode_match},
    {Opcode::Mbarrier, decode_mbarrier},
    {Opcode::Membar, decode_fence},
    {Opcode::Mma, decode_mma},
    {Opcode::Movmatrix, decode_transpose},
    {Opcode::Nanosleep, decode_nothing},
    {Opcode::Pmevent, decode_nothing},
    {Opcode::Prefetch, decode_nothing},
    {Opcode::Prefetchu, decode_nothing},
    {Opcode::Red, decode_atomic},
    {Opcode::Redux, decode_reduce},
    {Opcode::Ret, decode_return},
    {Opcode::Setmaxnreg, decode_nothing},
    {Opcode::Shfl, decode_shuffle},
    {Opcode::St, decode_store},
    {Opcode::Stackrestore, decode_stack},
    {Opcode::Stacksave, decode_stack},
    {Opcode::Stmatrix, decode_store_matrix},
    {Opcode::Sub, decode_carry},
    {Opcode::Subc, decode_carry},
    {Opcode::Tensormap, decode_tensor_map},
    {Opcode::Tex, decode_texture},
    {Opcode::Trap, decode_trap},
    {Opcode::Vote, decode_vote},
    {Opcode::Wgmma, decode_wgmma},
    {Opcode::Wmma, decode_wmma},
});
}  // namespace

const DecodeFunction* decoder_of(Opcode opcode) { return kDecoders.find(opcode); }

}  // namespace gpuemu::emulator
