#include "runtime/ptx/link/link.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include <fmt/core.h>

#include "common/base/text.h"
#include "runtime/ptx/lexer.h"
#include "runtime/ptx/limits.h"
#include "runtime/ptx/link/stand_in.h"
#include "runtime/ptx/link/symbols_of.h"

namespace gpuemu::ptx {
namespace {

struct Place {
  const LinkUnit* unit = nullptr;
  const LinkSymbol* symbol = nullptr;
};

/// What becomes of one text.
struct Changes {
  std::unordered_map<std::string_view, std::string> names;  ///< New ones.
  std::set<const LinkSymbol*> lost;                         ///< Another definition is used.
  /// New names for one place, by its offset and the name that a variable has there.
  std::map<std::pair<size_t, std::string_view>, std::string> hidden;
  std::vector<std::pair<size_t, size_t>> removed;  ///< Ranges of bytes.
  uint64_t first_file = 0;                         ///< Is added to the numbers of files.
};

class Linker {
 public:
  Result<Linked> run(const std::vector<LinkInput>& inputs) {
    for (const LinkInput& input : inputs) {
      units_.push_back(GPUEMU_TRY(symbols_of(input.text, input.name)));
    }
    changes_.resize(units_.size());
    for (size_t i = 0; i < units_.size(); ++i) {
      changes_[i].removed = units_[i].header;
      if (i > 0) changes_[i].first_file = changes_[i - 1].first_file + units_[i - 1].file_max;
    }
    count_names();
    rename_local_names();
    GPUEMU_TRY(choose_definitions());
    for (size_t i = 0; i < units_.size(); ++i) remove_lost(i);
    compare_variables();
    match_prototypes();
    linked_.text = header();
    for (size_t i = 0; i < units_.size(); ++i) append(units_[i], changes_[i]);
    linked_.text += stand_ins_;
    return std::move(linked_);
  }

 private:
  static bool is_local(const LinkUnit& unit, std::string_view name) {
    return std::ranges::all_of(unit.symbols, [&](const LinkSymbol& one) {
      return one.name != name || one.linkage == Linkage::Local;
    });
  }

  void count_names() {
    for (const LinkUnit& unit : units_) {
      for (const LinkSymbol& one : unit.symbols) {
        taken_.insert(one.name);
        if (one.linkage != Linkage::Local) shared_.insert(one.name);
      }
    }
  }

  std::string fresh_name(const std::string& name, size_t unit) {
    std::string made = fmt::format("{}${}", name, unit + 1);
    while (!taken_.insert(made).second) made += '_';
    return made;
  }

  void rename_local_names() {
    std::set<std::string_view> used;
    for (size_t i = 0; i < units_.size(); ++i) {
      std::set<std::string_view> own;
      for (const LinkSymbol& one : units_[i].symbols) {
        if (!own.insert(one.name).second || !shared_or(used, one.name)) continue;
        if (is_local(units_[i], one.name)) {
          changes_[i].names[one.name] = fresh_name(one.name, i);
        }
      }
      used.insert(own.begin(), own.end());
    }
  }
  bool shared_or(const std::set<std::string_view>& used, const std::string& name) const {
    return shared_.contains(name) || used.contains(name);
  }

  Status choose_definitions() {
    for (size_t i = 0; i < units_.size(); ++i) {
      for (const LinkSymbol& one : units_[i].symbols) {
        if (one.linkage == Linkage::Local && changes_[i].names.contains(one.name)) continue;
        Place& known = places_[one.name];
        if (known.symbol != nullptr && known.symbol->is_function != one.is_function) {
          return Error{ErrorCode::InvalidArgument,
                       fmt::format("'{}' is a {} in '{}' and a {} in '{}'; name one of them "
                                   "otherwise",
                                   one.name, kind(*known.symbol), known.unit->name, kind(one),
                                   units_[i].name)};
        }
        choose(known, {&units_[i], &one});
      }
    }
    return {};
  }
  static const char* kind(const LinkSymbol& one) {
    return one.is_function ? "function" : "variable";
  }

  /// Keeps one of two in `known`. The other loses where both are definitions.
  void choose(Place& known, const Place& other) {
    if (known.symbol == nullptr || !known.symbol->is_definition) {
      if (known.symbol == nullptr || other.symbol->is_definition) known = other;
      return;
    }
    if (!other.symbol->is_definition || other.unit == known.unit) return;
    const bool wins =
        known.symbol->linkage == Linkage::Weak && other.symbol->linkage != Linkage::Weak;
    const Place gone = wins ? known : other;
    if (gone.symbol->linkage != Linkage::Weak) {
      linked_.conflicts.push_back(
          fmt::format("'{}' is defined in '{}' and again in '{}'; define it once",
                      gone.symbol->name, known.unit->name, other.unit->name));
    }
    changes_of(*gone.unit).lost.insert(gone.symbol);
    if (wins) known = other;
  }

  /// A statement goes when all of its names have lost. One that has lost beside others becomes a
  /// variable that nobody uses.
  void remove_lost(size_t unit) {
    const std::vector<LinkSymbol>& symbols = units_[unit].symbols;
    Changes& changes = changes_[unit];
    const auto is_lost = [&](const LinkSymbol& one) { return changes.lost.contains(&one); };
    for (auto first = symbols.begin(); first != symbols.end();) {
      const auto end = std::find_if(
          first, symbols.end(), [&](const LinkSymbol& one) { return one.begin != first->begin; });
      if (std::all_of(first, end, is_lost)) {
        changes.removed.emplace_back(first->begin, first->end);
        first = end;
      }
      for (; first != end; ++first) {
        if (!is_lost(*first)) continue;
        changes.hidden[{first->name_at, first->name}] = fresh_name(first->name, unit);
      }
    }
  }

  Changes& changes_of(const LinkUnit& unit) {
    return changes_[static_cast<size_t>(&unit - units_.data())];
  }

  void compare_variables() {
    for (size_t i = 0; i < units_.size(); ++i) {
      for (const LinkSymbol& one : units_[i].symbols) {
        if (one.is_function || changes_[i].names.contains(one.name)) continue;
        const Place& chosen = places_.at(one.name);
        const LinkSymbol& used = *chosen.symbol;
        if (!used.is_definition || chosen.unit == &units_[i]) continue;
        // A second definition is reported as such.
        if (one.is_definition && one.linkage != Linkage::Weak) continue;
        const bool has_size = one.bytes != 0 && used.bytes != 0;
        if (one.space == used.space && (!has_size || one.bytes == used.bytes)) continue;
        linked_.conflicts.push_back(
            one.space != used.space
                ? fmt::format("'{}' is in another memory in '{}' than in '{}', where it is "
                              "defined; declare it as it is defined",
                              one.name, units_[i].name, chosen.unit->name)
                : fmt::format("'{}' has {} bytes in '{}' and {} in '{}', where it is defined; "
                              "declare it as it is defined",
                              one.name, one.bytes, units_[i].name, used.bytes, chosen.unit->name));
      }
    }
  }

  void match_prototypes() {
    for (size_t i = 0; i < units_.size(); ++i) {
      for (const LinkSymbol& one : units_[i].symbols) {
        if (!one.is_function || changes_[i].names.contains(one.name)) continue;
        const Place& chosen = places_.at(one.name);
        if (!chosen.symbol->is_definition || chosen.unit == &units_[i] ||
            one.has_prototype_of(*chosen.symbol)) {
          continue;
        }
        linked_.warnings.push_back(fmt::format(
            "the prototype of '{}' in '{}' differs from its definition in '{}' ({}); "
            "what the caller misses is undefined: declare it as it is defined",
            one.name, units_[i].name, chosen.unit->name, difference(one, *chosen.symbol)));
        const std::string name = fresh_name(one.name, i);
        changes_[i].names[one.name] = name;
        stand_ins_ += stand_in(name, one, *chosen.symbol);
      }
    }
  }

  static std::string difference(const LinkSymbol& declared, const LinkSymbol& defined) {
    const auto count = [](const LinkSymbol& one) {
      return fmt::format("{} and {}", counted(one.params.size(), "parameter"),
                         counted(one.results.size(), "result"));
    };
    if (declared.params.size() != defined.params.size() ||
        declared.results.size() != defined.results.size()) {
      return fmt::format("{} beside {}", count(declared), count(defined));
    }
    return "their sizes";
  }

  /// The newest of all versions and targets.
  std::string header() const {
    const LinkUnit* newest = &units_.front();
    std::string_view target;
    bool is_debug = false;
    for (const LinkUnit& unit : units_) {
      if (unit.version > newest->version) newest = &unit;
      if (number_of(unit.target) > number_of(target) ||
          (number_of(unit.target) == number_of(target) && unit.target.size() > target.size())) {
        target = unit.target;
      }
      is_debug |= unit.is_debug;
    }
    return fmt::format(".version {}.{}\n.target {}{}\n.address_size 64\n", newest->version.first,
                       newest->version.second, target, is_debug ? ", debug" : "");
  }
  static uint32_t number_of(std::string_view target) {
    uint32_t number = 0;
    if (!target.starts_with("sm_")) return 0;
    target.remove_prefix(3);
    std::from_chars(target.data(), target.data() + target.size(), number);
    return number;
  }

  void append(const LinkUnit& unit, Changes& changes) {
    std::ranges::sort(changes.removed);
    auto gone = changes.removed.begin();
    size_t copied = 0;
    const auto copy_until = [&](size_t to) {
      if (to > copied) linked_.text.append(unit.text.substr(copied, to - copied));
      copied = std::max(copied, to);
    };
    Lexer lexer(unit.text);
    bool is_file_next = false;
    for (Token token = lexer.next(); token.kind != TokenKind::End && token.kind != TokenKind::Bad;
         token = lexer.next()) {
      const auto at = static_cast<size_t>(token.text.data() - unit.text.data());
      while (gone != changes.removed.end() && gone->second <= at) ++gone;
      if (gone != changes.removed.end() && gone->first <= at) {
        copy_until(gone->first);
        copied = std::max(copied, gone->second);
        continue;
      }
      if (token.kind == TokenKind::Word) {
        const NameRange range = name_range(lexer, unit.text, token);
        if (const auto replaced = replacement(changes, token.text, at, range)) {
          copy_until(at);
          linked_.text += *replaced;
          copied = range.count == 0 ? at + token.text.size() : range.end;
        }
      } else if (is_file_next && token.kind == TokenKind::Number && changes.first_file != 0) {
        copy_until(at);
        linked_.text += moved_file(token.text, changes.first_file);
        copied = at + token.text.size();
      }
      is_file_next = token.text == ".file" || token.text == ".loc" || token.text == "inlined_at";
    }
    copy_until(unit.text.size());
    linked_.text += '\n';
  }

  /// "<3>[2]" behind a name: the names that end in 0, 1 and 2, each with these dimensions.
  struct NameRange {
    uint64_t count = 0;  ///< 0: the name stands for itself.
    std::string_view dims;
    size_t end = 0;  ///< Behind the dimensions.
  };
  static NameRange name_range(Lexer ahead, std::string_view text, const Token& name) {
    const auto end_of = [&](const Token& token) {
      return static_cast<size_t>(token.text.data() + token.text.size() - text.data());
    };
    const size_t next = text.find_first_not_of(" \t\r\n", end_of(name));
    if (next == text.npos || text[next] != '<') return {};
    ahead.next();
    const Token number = ahead.next();
    const Token closed = ahead.next();
    NameRange range;
    std::from_chars(number.text.data(), number.text.data() + number.text.size(), range.count);
    if (number.kind != TokenKind::Number || closed.punct != '>' ||
        range.count > kVariableRangeMax) {
      return {};
    }
    const size_t begin = range.end = end_of(closed);
    for (Token token = ahead.next(); token.punct == '['; token = ahead.next()) {
      while (token.kind != TokenKind::End && token.kind != TokenKind::Bad && token.punct != ']') {
        token = ahead.next();
      }
      range.end = end_of(token);
    }
    range.dims = text.substr(begin, range.end - begin);
    return range;
  }

  /// Returns what stands in place of a name with its range; nothing if both stay as they are.
  static std::optional<std::string> replacement(const Changes& changes, std::string_view name,
                                                size_t at, const NameRange& range) {
    if (range.count == 0) {
      const std::string* const renamed = new_name(changes, name, at);
      return renamed == nullptr ? std::nullopt : std::optional(*renamed);
    }
    std::string list;
    bool differs = false;
    for (uint64_t i = 0; i < range.count; ++i) {
      const std::string one = fmt::format("{}{}", name, i);
      const std::string* const renamed = new_name(changes, one, at);
      differs |= renamed != nullptr;
      list += fmt::format("{}{}{}", i == 0 ? "" : ", ", renamed == nullptr ? one : *renamed,
                          range.dims);
    }
    return differs ? std::optional(std::move(list)) : std::nullopt;
  }
  /// Null: the name stays.
  static const std::string* new_name(const Changes& changes, std::string_view name, size_t at) {
    const auto hidden = changes.hidden.find({at, name});
    if (hidden != changes.hidden.end()) return &hidden->second;
    const auto renamed = changes.names.find(name);
    return renamed == changes.names.end() ? nullptr : &renamed->second;
  }
  static std::string moved_file(std::string_view number, uint64_t by) {
    uint64_t value = 0;
    std::from_chars(number.data(), number.data() + number.size(), value);
    return std::to_string(value + by);
  }

  std::vector<LinkUnit> units_;
  std::vector<Changes> changes_;
  std::set<std::string> taken_, shared_;
  std::map<std::string, Place> places_;
  std::string stand_ins_;
  Linked linked_;
};

}  // namespace

Result<Linked> link(const std::vector<LinkInput>& inputs) {
  if (inputs.empty()) return Error{ErrorCode::InvalidArgument, "there is nothing to link"};
  if (inputs.size() == 1) return Linked{inputs.front().text, {}, {}};
  return Linker().run(inputs);
}

}  // namespace gpuemu::ptx
