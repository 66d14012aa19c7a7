// What a stopped launch holds, as text. Pure.
#pragma once

#include <string>

#include "cli/debug/stepping.h"

namespace gpuemu::cli {

/// The low bits as a value of a PTX type ("f32", "s64", "f16x2", "pred") or of a dtype's name; in
/// hexadecimal for "hex" and what has no type. InvalidArgument for an unknown name or another size.
Result<std::string> bits_text(uint64_t bits, uint32_t bytes, const std::string& type);
/// Shows a register by its own type.
std::string register_text(const DebugRegister& of, uint32_t lane);

/// "watchpoint 1: y[3] = 2.5, was nan; stored by thread (3,0,0) of block (0,0,0), st.global ... at
/// a.cu:7"
std::string store_text(const Watchpoint& watch, const DebugStore& store,
                       const DebugProgram& program);

/// Names of the registers that an instruction writes, from its text.
std::vector<std::string> results_of(const std::string& instruction);

/// Lanes as ranges: "0-15, 31".
std::string lanes_text(uint32_t lanes);

/// Lines around `line` of a source, those that `has_code` names with '*', `line` with '>'.
std::string source_text(const std::string& source, uint64_t line, uint64_t around,
                        const std::vector<uint64_t>& has_code);

}  // namespace gpuemu::cli
