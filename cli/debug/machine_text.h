// Formats the state of a stopped launch. No side effects.
#pragma once

#include <string>

#include "cli/debug/stepping.h"

namespace gpuemu::cli {

/// Formats the low bits as a value of a PTX type ("f32", "s64", "f16x2", "pred") or of a dtype; as
/// hexadecimal for "hex" and for untyped bits. InvalidArgument for an unknown name or a mismatched
/// size.
Result<std::string> bits_text(uint64_t bits, uint32_t bytes, const std::string& type);
/// Formats a register by its own type.
std::string register_text(const DebugRegister& of, uint32_t lane);

/// Returns text such as "watchpoint 1: y[3] = 2.5, was nan; stored by thread (3,0,0) of block
/// (0,0,0), st.global ... at a.cu:7".
std::string store_text(const Watchpoint& watch, const DebugStore& store,
                       const DebugProgram& program);

/// Returns the names of the registers that an instruction writes, parsed from its text.
std::vector<std::string> results_of(const std::string& instruction);

/// Formats lanes as ranges: "0-15, 31".
std::string lanes_text(uint32_t lanes);

/// Returns lines around `line` of a source; lines in `has_code` are marked '*', `line` is marked
/// '>'.
std::string source_text(const std::string& source, uint64_t line, uint64_t around,
                        const std::vector<uint64_t>& has_code);

}  // namespace gpuemu::cli
