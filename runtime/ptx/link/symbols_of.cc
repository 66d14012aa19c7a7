#include "runtime/ptx/link/symbols_of.h"

#include <algorithm>
#include <charconv>

#include "runtime/ptx/declaration.h"
#include "runtime/ptx/limits.h"

namespace gpuemu::ptx {
namespace {

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : in_(text, name) {
    unit_.name = name;
    unit_.text = text;
  }

  Result<LinkUnit> read() {
    while (in_.peek().kind != TokenKind::End) GPUEMU_TRY(item());
    return std::move(unit_);
  }

 private:
  size_t offset() const {
    return in_.peek().kind == TokenKind::End
               ? unit_.text.size()
               : static_cast<size_t>(in_.peek().text.data() - unit_.text.data());
  }

  Status item() {
    if (in_.peek().kind == TokenKind::Bad) return in_.unexpected("a directive");
    if (in_.is('@')) {  // "@@DWARF ..." of compilers before CUDA 5
      in_.skip_line();
      return {};
    }
    if (in_.peek().kind != TokenKind::Directive) {
      in_.take();
      return {};
    }
    const std::string_view name = in_.peek().text;
    if (name == ".version" || name == ".target" || name == ".address_size") return header();
    if (name == ".file") return file();
    if (name == ".section") return section();
    if (name == ".alias" || name == ".pragma") return statement();
    return definition();
  }

  Status header() {
    const size_t begin = offset();
    const std::string_view name = in_.take().text;
    const Token value = in_.take();
    if (name == ".version") read_version(value.text);
    if (name == ".target") {
      unit_.target = value.text;
      while (in_.accept(',')) unit_.is_debug |= in_.take().text == "debug";
    }
    unit_.header.emplace_back(begin, offset());
    return {};
  }

  void read_version(std::string_view text) {
    const char* const end = text.data() + text.size();
    const auto major = std::from_chars(text.data(), end, unit_.version.first);
    if (major.ptr != end) std::from_chars(major.ptr + 1, end, unit_.version.second);
  }

  Status file() {
    in_.take();
    unit_.file_max = std::max(unit_.file_max, GPUEMU_TRY(in_.integer("the number of a file")));
    return {};
  }

  Status section() {
    while (in_.peek().kind != TokenKind::End && !in_.is('{')) in_.take();
    const Location opened = in_.peek().where;
    GPUEMU_TRY(in_.expect('{', "after the name of a section"));
    return in_.skip_braces(opened);
  }

  /// Up to the ';' outside of braces.
  Status statement() {
    while (in_.peek().kind != TokenKind::End && !in_.accept(';')) {
      const Token token = in_.take();
      if (token.kind == TokenKind::Bad) return in_.error_at(token.where, "{}", token.text);
      if (token.punct == '{') GPUEMU_TRY(in_.skip_braces(token.where));
    }
    return {};
  }

  Status definition() {
    LinkSymbol symbol;
    symbol.begin = offset();
    for (;;) {
      if (in_.peek().kind != TokenKind::Directive) return in_.unexpected("a directive");
      const std::string_view name = in_.take().text;
      if (name == ".extern") symbol.linkage = Linkage::Extern;
      if (name == ".visible") symbol.linkage = Linkage::Visible;
      if (name == ".weak" || name == ".common") symbol.linkage = Linkage::Weak;
      if (name == ".func" || name == ".entry") return function(std::move(symbol));
      if (const auto space = space_from_directive(name)) {
        return variables(std::move(symbol), *space);
      }
    }
  }

  Status function(LinkSymbol symbol) {
    symbol.is_function = true;
    while (in_.accept_directive(".attribute")) GPUEMU_TRY(in_.skip_parentheses());
    if (in_.is('(')) symbol.results = GPUEMU_TRY(parameters());
    symbol.name = GPUEMU_TRY(in_.word("the name of a function"));
    if (in_.is('(')) symbol.params = GPUEMU_TRY(parameters());
    while (in_.peek().kind != TokenKind::End && !in_.is(';') && !in_.is('{')) in_.take();
    symbol.is_definition = in_.is('{');
    const Location opened = in_.take().where;
    if (symbol.is_definition) GPUEMU_TRY(in_.skip_braces(opened));
    symbol.end = offset();
    unit_.symbols.push_back(std::move(symbol));
    return {};
  }

  Result<std::vector<Variable>> parameters() {
    std::vector<Variable> list;
    in_.take();
    if (in_.accept(')')) return list;
    do {
      const Token token = in_.take();
      const auto space = space_from_directive(token.text);
      if (token.kind != TokenKind::Directive || !space) {
        return in_.error_at(token.where, "unexpected '{}'; expected .param before a parameter",
                            token.text);
      }
      const Declaration declaration = GPUEMU_TRY(parse_declaration(in_, *space));
      std::ranges::move(GPUEMU_TRY(parse_declarator(in_, declaration, budget_)),
                        std::back_inserter(list));
    } while (in_.accept(','));
    GPUEMU_TRY(in_.expect(')', "or ',' after a parameter"));
    return list;
  }

  /// ".global .align 4 .b32 a, b[2] = {1, 2};" is one entry for each name with the bytes of all.
  Status variables(LinkSymbol symbol, Space space) {
    const Declaration declaration = GPUEMU_TRY(parse_declaration(in_, space));
    symbol.is_definition = symbol.linkage != Linkage::Extern;
    symbol.space = space;
    const size_t first = unit_.symbols.size();
    do {
      symbol.name_at = offset();
      for (const Variable& one : GPUEMU_TRY(parse_declarator(in_, declaration, budget_))) {
        symbol.name = one.name;
        symbol.bytes = one.bytes;
        unit_.symbols.push_back(symbol);
      }
      if (in_.is('=')) GPUEMU_TRY(initialiser());
    } while (in_.accept(','));
    GPUEMU_TRY(in_.expect(';', "or ',' after a variable"));
    for (size_t i = first; i < unit_.symbols.size(); ++i) unit_.symbols[i].end = offset();
    return {};
  }

  /// Up to the ',' or ';' outside of braces and parentheses.
  Status initialiser() {
    for (uint32_t depth = 0; depth != 0 || (!in_.is(',') && !in_.is(';'));) {
      const Token token = in_.take();
      if (token.kind == TokenKind::End || token.kind == TokenKind::Bad) {
        return in_.error_at(token.where, "an initialiser that does not end; expected ';'");
      }
      if (token.punct == '{' || token.punct == '(') ++depth;
      if ((token.punct == '}' || token.punct == ')') && depth != 0) --depth;
    }
    return {};
  }

  Cursor in_;
  LinkUnit unit_;
  uint64_t budget_ = kVariablesMax;
};

bool same_bytes(const std::vector<Variable>& one, const std::vector<Variable>& other) {
  return std::ranges::equal(one, other, {}, &Variable::bytes, &Variable::bytes);
}

}  // namespace

bool LinkSymbol::has_prototype_of(const LinkSymbol& other) const {
  return same_bytes(results, other.results) && same_bytes(params, other.params);
}

Result<LinkUnit> symbols_of(std::string_view text, const std::string& name) {
  return Reader(text, name).read();
}

}  // namespace gpuemu::ptx
