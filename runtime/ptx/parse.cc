// Parses the module level: version, target, linkage, variables and functions. Then runs the checks
// of verify.h.
#include "runtime/ptx/parse.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "runtime/ptx/function_parser.h"
#include "runtime/ptx/limits.h"
#include "runtime/ptx/verify.h"

namespace gpuemu::ptx {
namespace {

constexpr uint64_t kAny32 = uint64_t{1} << 32;

/// Returns whether it is an architecture of the PTX ISA, such as "sm_80", "sm_90a" or "sm_100f".
/// Options such as "texmode_independent" are handled elsewhere.
bool is_known_target(std::string_view name) {
  constexpr auto kKnown =
      std::to_array<uint32_t>({10, 11, 12, 13, 20, 21, 30, 32, 35, 37,  50,  52,  53,  60,  61, 62,
                               70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121});
  if (!name.starts_with("sm_")) return false;
  name.remove_prefix(3);
  if (name.ends_with('a') || name.ends_with('f')) name.remove_suffix(1);
  uint32_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  return read.ec == std::errc{} && read.ptr == name.data() + name.size() &&
         std::ranges::find(kKnown, number) != kKnown.end();
}

class ModuleParser {
 public:
  ModuleParser(std::string_view text, const std::string& name) : in_(text, name) {
    state_.initialiser_budget = kInitialiserBytesMax;
    state_.register_budget = kModuleRegistersMax;
    state_.variable_budget = kVariablesMax;
    state_.instruction_budget = kInstructionsMax;
  }

  Result<Module> parse() {
    GPUEMU_TRY(header());
    while (in_.peek().kind != TokenKind::End) GPUEMU_TRY(item());
    GPUEMU_TRY(verify(state_.module, in_));
    return std::move(state_.module);
  }

 private:
  Status header() {
    if (!in_.accept_directive(".version")) {
      return in_.unexpected(".version as the first directive, as in '.version 8.0'");
    }
    GPUEMU_TRY(version());
    if (!in_.accept_directive(".target")) {
      return in_.unexpected(".target behind .version, as in '.target sm_80'");
    }
    return target();
  }

  Status version() {
    const Token token = in_.peek();
    const std::string_view text = token.text;
    uint32_t major = 0;
    uint32_t minor = 0;
    const auto front = std::from_chars(text.data(), text.data() + text.size(), major);
    const bool dotted = front.ptr < text.data() + text.size() && *front.ptr == '.';
    const auto back =
        dotted ? std::from_chars(front.ptr + 1, text.data() + text.size(), minor) : front;
    if (token.kind != TokenKind::Number || !dotted || back.ec != std::errc{} ||
        back.ptr != text.data() + text.size()) {
      return in_.unexpected("a version such as 8.0");
    }
    in_.take();
    state_.module.version = text;
    if (major > kNewestMajor || (major == kNewestMajor && minor > kNewestMinor)) {
      state_.module.is_newer = true;
      state_.module.warnings.push_back(
          fmt::format("line {}: .version {} is newer than the newest known, {}.{}",
                      token.where.line, text, kNewestMajor, kNewestMinor));
    }
    return {};
  }

  Status target() {
    const uint32_t line = in_.peek().where.line;
    state_.module.target = GPUEMU_TRY(in_.word("a target such as sm_80"));
    if (!is_known_target(state_.module.target)) {
      state_.module.warnings.push_back(
          fmt::format("line {}: .target {} is not a known architecture; drivers may refuse it",
                      line, state_.module.target));
    }
    while (in_.accept(',')) {
      const std::string_view option = GPUEMU_TRY(in_.word("a target option"));
      state_.module.debug = state_.module.debug || option == "debug";
    }
    return {};
  }

  Status item() {
    const Token& token = in_.peek();
    if (in_.accept(';')) return {};
    if (in_.is('@')) {  // "@@DWARF ..." of compilers before CUDA 5
      in_.skip_line();
      return {};
    }
    if (token.kind != TokenKind::Directive) return in_.unexpected("a directive");
    if (GPUEMU_TRY(parse_common_directive(in_, state_, nullptr))) return {};
    if (in_.accept_directive(".address_size")) {
      const Location where = in_.peek().where;
      state_.module.address_size = GPUEMU_TRY(in_.integer_below(65, "64"));
      if (state_.module.address_size != 64) {
        return in_.error_at(where, "addresses of {} bits, expected 64: compile for 64 bits (-m64)",
                            state_.module.address_size);
      }
      return {};
    }
    if (in_.accept_directive(".alias")) return alias();
    return definition();
  }

  Status definition() {
    bool is_extern = false;
    for (;;) {
      const Token token = in_.take();
      if (token.text == ".extern") {
        is_extern = true;
      } else if (token.text == ".entry" || token.text == ".func") {
        return function(token.text == ".entry");
      } else if (const auto space = space_from_directive(token.text)) {
        return variables(*space, is_extern);
      } else if (token.text != ".visible" && token.text != ".weak" && token.text != ".common") {
        return in_.error_at(
            token.where,
            "unknown '{}' at module level; expected .entry, .func, a state space or linkage",
            token.text);
      }
      if (in_.peek().kind != TokenKind::Directive) return in_.unexpected("a directive");
    }
  }

  Status function(bool is_entry) {
    Function made = GPUEMU_TRY(FunctionParser(in_, state_).parse(is_entry));
    auto& functions = state_.module.functions;
    const auto [place, fresh] = state_.functions.try_emplace(made.name, functions.size());
    if (state_.variables.contains(made.name)) {
      return in_.error_at(made.where, "'{}' is already the name of a variable", made.name);
    }
    if (fresh) {
      functions.push_back(std::move(made));
      return {};
    }
    Function& known = functions[place->second];
    if (!known.is_extern && !made.is_extern) {
      return in_.error_at(made.where, "duplicate {} '{}'; the first stands on line {}",
                          is_entry ? "entry" : "function", made.name, known.where.line);
    }
    const bool noreturn = known.noreturn || made.noreturn;
    if (known.is_extern && !made.is_extern) known = std::move(made);
    known.noreturn = noreturn;
    return {};
  }

  Status variables(Space space, bool is_extern) {
    Declaration declaration = GPUEMU_TRY(parse_declaration(in_, space));
    declaration.is_extern = is_extern;
    do {
      std::vector<Variable> declared =
          GPUEMU_TRY(parse_declarator(in_, declaration, state_.variable_budget));
      for (Variable& variable : declared) {
        GPUEMU_TRY(parse_initialiser(in_, variable, state_.initialiser_budget));
        GPUEMU_TRY(add(std::move(variable)));
      }
    } while (in_.accept(','));
    return in_.expect(';', "or ',' after a variable");
  }

  Status add(Variable variable) {
    auto& all = state_.module.variables;
    const auto [place, fresh] = state_.variables.try_emplace(variable.name, all.size());
    if (fresh && !state_.functions.contains(variable.name)) {
      all.push_back(std::move(variable));
      return {};
    }
    if (fresh || (!all[place->second].is_extern && !variable.is_extern)) {
      return in_.error_at(variable.where, "duplicate name '{}' in the module", variable.name);
    }
    if (!variable.is_extern) all[place->second] = std::move(variable);
    return {};
  }

  // Parses ".alias name, function;". The name gets a copy of the body.
  Status alias() {
    const Location where = in_.peek().where;
    const std::string name(GPUEMU_TRY(in_.word("the name of an alias")));
    GPUEMU_TRY(in_.expect(',', "after the name of an alias"));
    const std::string original(GPUEMU_TRY(in_.word("the function behind an alias")));
    GPUEMU_TRY(in_.expect(';', "after an alias"));
    auto& functions = state_.module.functions;
    const auto from = state_.functions.find(original);
    if (from == state_.functions.end() || functions[from->second].is_extern) {
      return in_.error_at(where, "alias '{}' of '{}'; expected a function defined above", name,
                          original);
    }
    Function copy = functions[from->second];
    copy.name = name;
    if (copy.body.size() > state_.instruction_budget ||
        copy.registers.size() > state_.register_budget) {
      return in_.error_at(where, "alias '{}' exceeds the limits of a module", name);
    }
    state_.instruction_budget -= copy.body.size();
    state_.register_budget -= copy.registers.size();
    const auto [place, fresh] = state_.functions.try_emplace(name, functions.size());
    if (fresh) {
      functions.push_back(std::move(copy));
    } else if (functions[place->second].is_extern) {
      functions[place->second] = std::move(copy);
    } else {
      return in_.error_at(where, "duplicate function '{}' by .alias", name);
    }
    return {};
  }

  Cursor in_;
  ModuleState state_;
};

// Parses .file 1 "a.cu"[, timestamp, size]
/// Undoes the escapes of a name: compilers write non-ASCII bytes as \303, and quotes after a
/// backslash.
std::string without_escapes(std::string_view text) {
  const auto is_octal = [&](size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '7';
  };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      plain += text[i];
    } else if (is_octal(i + 1) && is_octal(i + 2) && is_octal(i + 3)) {
      const int byte = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      plain += static_cast<char>(byte & 0xFF);
      i += 3;
    } else {
      plain += text[++i];
    }
  }
  return plain;
}

Status file_directive(Cursor& in, Module& module) {
  const uint32_t index = GPUEMU_TRY(in.integer_below(kAny32, "the number of a file"));
  if (in.peek().kind != TokenKind::String) return in.unexpected("the name of a file in quotes");
  module.files[index] = without_escapes(in.take().text);
  while (in.accept(',')) GPUEMU_TRY(in.integer("a time or a size"));
  return {};
}

Result<SourceLine> source_line(Cursor& in) {
  SourceLine line;
  line.file = GPUEMU_TRY(in.integer_below(kAny32, "the number of a file"));
  line.line = GPUEMU_TRY(in.integer_below(kAny32, "a line"));
  line.column = GPUEMU_TRY(in.integer_below(kAny32, "a column"));
  return line;
}

// Parses .loc 2 162 3[, function_name $L__info_string6[+4], inlined_at 1 1 30]
Status loc_directive(Cursor& in, ModuleState& state, SourceLine* line) {
  SourceLine here = GPUEMU_TRY(source_line(in));
  const std::array<uint32_t, 3> key = {here.file, here.line, here.column};
  while (in.accept(',')) {
    const std::string_view attribute = GPUEMU_TRY(in.word("function_name or inlined_at"));
    if (attribute == "inlined_at") {
      SourceLine outer = GPUEMU_TRY(source_line(in));
      // The text only names the next outer position. If that was inlined itself, its own .loc, the
      // last one before this, says where.
      if (const auto own = state.sites.find({outer.file, outer.line, outer.column});
          own != state.sites.end()) {
        outer.site = own->second;
      }
      std::vector<SourceLine>& sites = state.module.sites;
      const auto last = state.sites.find(key);
      const bool repeated =
          last != state.sites.end() && last->second != 0 && sites[last->second - 1] == outer;
      if (!repeated) sites.push_back(outer);
      here.site = repeated ? last->second : static_cast<uint32_t>(sites.size());
      continue;
    }
    GPUEMU_TRY(in.word("the label of a function name"));
    if (in.accept('+')) GPUEMU_TRY(in.integer("an offset"));
  }
  state.sites[key] = here.site;
  if (line != nullptr) *line = here;
  return {};
}

}  // namespace

Result<bool> parse_common_directive(Cursor& in, ModuleState& state, SourceLine* line) {
  // LLVM numbers the lines of inline PTX from the line of the asm statement on. Only the first is
  // the real source line, and it has a .loc before the inline text.
  SourceLine* const believed = in.peek().inline_asm ? nullptr : line;
  if (in.accept_directive(".loc")) {
    GPUEMU_TRY(loc_directive(in, state, believed));
  } else if (in.accept_directive(".file")) {
    GPUEMU_TRY(file_directive(in, state.module));
  } else if (in.accept_directive(".pragma")) {
    while (in.peek().kind == TokenKind::String || in.is(',')) in.take();
    GPUEMU_TRY(in.expect(';', "after .pragma"));
  } else if (in.accept_directive(".section")) {
    while (in.peek().kind != TokenKind::End && !in.is('{')) in.take();
    const Location opened = in.peek().where;
    GPUEMU_TRY(in.expect('{', "after the name of a section"));
    GPUEMU_TRY(in.skip_braces(opened));
  } else {
    return false;
  }
  return true;
}

Result<Module> parse(std::string_view text, const std::string& name) {
  return ModuleParser(text, name).parse();
}

}  // namespace gpuemu::ptx
