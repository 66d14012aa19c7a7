#include "runtime/ptx/link/stand_in.h"

#include <algorithm>

#include <fmt/core.h>

namespace gpuemu::ptx {
namespace {

using Parameters = std::vector<Variable>;

std::string declaration(const Variable& one, const std::string& name) {
  return fmt::format(".param .align {} .b8 {}[{}]", std::max(one.align, 1u), name,
                     std::max<uint64_t>(one.bytes, 1));
}

std::string named(const char* what, size_t index) { return fmt::format("{}_{}", what, index); }

/// "(.param .align 4 .b8 a_0[4], ...)", or nothing.
std::string list_of(const Parameters& all, const char* what) {
  std::string list;
  for (size_t i = 0; i < all.size(); ++i) {
    list += (i == 0 ? "" : ", ") + declaration(all[i], named(what, i));
  }
  return list.empty() ? list : fmt::format("({})", list);
}

std::string names_of(const Parameters& all, const char* what) {
  std::string list;
  for (size_t i = 0; i < all.size(); ++i) list += (i == 0 ? "" : ", ") + named(what, i);
  return list;
}

/// Copies the bytes that both have.
std::string copies(const Parameters& from, const char* from_name, const Parameters& to,
                   const char* to_name) {
  std::string code;
  for (size_t i = 0; i < from.size() && i < to.size(); ++i) {
    const uint64_t bytes = std::min(from[i].bytes, to[i].bytes);
    for (uint64_t at = 0; at < bytes;) {
      uint64_t size = std::min<uint64_t>({8, from[i].align, to[i].align});
      while (size > 1 && at + size > bytes) size /= 2;
      size = std::max<uint64_t>(size, 1);
      code +=
          fmt::format("  ld.param.b{0} %word{0}, [{1}+{2}]; st.param.b{0} [{3}+{2}], %word{0};\n",
                      8 * size, named(from_name, i), at, named(to_name, i));
      at += size;
    }
  }
  return code;
}

}  // namespace

std::string stand_in(const std::string& name, const LinkSymbol& declared,
                     const LinkSymbol& defined) {
  std::string code = fmt::format(".func {} {} {} {{\n", list_of(declared.results, "result"), name,
                                 list_of(declared.params, "given"));
  code += "  .reg .b16 %word8, %word16; .reg .b32 %word32; .reg .b64 %word64;\n";
  for (size_t i = 0; i < defined.params.size(); ++i) {
    code += "  " + declaration(defined.params[i], named("passed", i)) + ";\n";
  }
  for (size_t i = 0; i < defined.results.size(); ++i) {
    code += "  " + declaration(defined.results[i], named("got", i)) + ";\n";
  }
  code += copies(declared.params, "given", defined.params, "passed");
  code += defined.results.empty() ? "  call "
                                  : fmt::format("  call ({}), ", names_of(defined.results, "got"));
  code += defined.name;
  if (!defined.params.empty()) code += fmt::format(", ({})", names_of(defined.params, "passed"));
  code += ";\n";
  code += copies(defined.results, "got", declared.results, "result");
  return code + "  ret;\n}\n";
}

}  // namespace gpuemu::ptx
