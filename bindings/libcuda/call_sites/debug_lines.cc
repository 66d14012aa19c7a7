#include "bindings/libcuda/call_sites/debug_lines.h"

#include <cstring>
#include <optional>
#include <vector>

namespace gpuemu::libcuda {
namespace {

/// Reads numbers in sequence. Reading past the end returns zero and sets failed().
class Cursor {
 public:
  explicit Cursor(std::span<const unsigned char> bytes) : bytes_(bytes) {}

  template <typename Number>
  Number number() {
    Number value{};
    if (bytes_.size() - at_ < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  /// An offset of 4 or 8 bytes.
  uint64_t offset(bool wide) { return wide ? number<uint64_t>() : number<uint32_t>(); }
  uint64_t unsigned_leb() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = number<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if (failed_ || (byte & 0x80) == 0) return value;
    }
  }
  int64_t signed_leb() {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte = 0;
    do {
      byte = number<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
    } while (!failed_ && (byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }
  std::string text() {
    const auto* begin = reinterpret_cast<const char*>(bytes_.data() + at_);
    const size_t length = strnlen(begin, bytes_.size() - at_);
    skip(length + 1);
    return {begin, length};
  }
  void skip(uint64_t bytes) {
    if (bytes > bytes_.size() - at_) {
      fail();
    } else {
      at_ += bytes;
    }
  }
  std::span<const unsigned char> take(uint64_t bytes) {
    const size_t begin = at_;
    skip(bytes);
    return failed_ ? std::span<const unsigned char>() : bytes_.subspan(begin, bytes);
  }
  bool at_end() const { return failed_ || at_ >= bytes_.size(); }
  bool failed() const { return failed_; }

 private:
  void fail() {
    failed_ = true;
    at_ = bytes_.size();
  }
  std::span<const unsigned char> bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

std::string text_in(std::span<const unsigned char> table, uint64_t offset) {
  if (offset >= table.size()) return {};
  return Cursor(table.subspan(offset)).text();
}

struct Name {
  std::string text;
  uint64_t folder = 0;
};

struct Unit {
  bool wide = false;
  uint16_t version = 0;
  uint8_t instruction_bytes = 1, opcode_base = 1, line_range = 1;
  int8_t line_base = 0;
  std::vector<uint8_t> operands;
  std::vector<Name> folders, files;
};

/// Reads one field of a directory or file entry. Returns nothing for a form that compilers do not
/// use there, because its size is unknown.
std::optional<Name> read_form(Cursor& from, uint64_t form, const Unit& unit,
                              const LineSections& sections) {
  enum Form {
    kData2 = 5,
    kData4,
    kData8,
    kString,
    kBlock,
    kData1 = 0x0b,
    kStrp = 0x0e,
    kUdata = 0x0f,
    kData16 = 0x1e,
    kLineStrp = 0x1f
  };
  switch (form) {
    case kString:
      return Name{from.text()};
    case kStrp:
      return Name{text_in(sections.strings, from.offset(unit.wide))};
    case kLineStrp:
      return Name{text_in(sections.line_strings, from.offset(unit.wide))};
    case kUdata:
      return Name{"", from.unsigned_leb()};
    case kData1:
      return Name{"", from.number<uint8_t>()};
    case kData2:
      return Name{"", from.number<uint16_t>()};
    case kData4:
      return Name{"", from.number<uint32_t>()};
    case kData8:
      return Name{"", from.number<uint64_t>()};
    case kData16:
      from.skip(16);
      return Name{};
    case kBlock:
      from.skip(from.unsigned_leb());
      return Name{};
    default:
      return std::nullopt;
  }
}

/// Reads a directory or file table of DWARF 5.
bool read_names(Cursor& from, const Unit& unit, const LineSections& sections,
                std::vector<Name>& names) {
  constexpr uint64_t kPath = 1, kFolder = 2;
  struct Column {
    uint64_t what, form;
  };
  std::vector<Column> columns;
  const auto count_of_columns = from.number<uint8_t>();
  for (unsigned i = 0; i < count_of_columns; ++i) {
    const uint64_t what = from.unsigned_leb();
    columns.push_back({what, from.unsigned_leb()});
  }
  const uint64_t count = from.unsigned_leb();
  for (uint64_t i = 0; i < count && !from.failed(); ++i) {
    Name name;
    for (const Column& column : columns) {
      const auto value = read_form(from, column.form, unit, sections);
      if (!value) return false;
      if (column.what == kPath) name.text = value->text;
      if (column.what == kFolder) name.folder = value->folder;
    }
    names.push_back(std::move(name));
  }
  return !from.failed();
}

/// Reads the tables of DWARF 2 to 4, which leave out directory 0, the compiler's working directory.
void read_old_names(Cursor& from, Unit& unit) {
  unit.folders.push_back({});
  for (std::string text = from.text(); !text.empty(); text = from.text()) {
    unit.folders.push_back({std::move(text)});
  }
  unit.files.push_back({});
  for (std::string text = from.text(); !text.empty(); text = from.text()) {
    const uint64_t folder = from.unsigned_leb();
    from.unsigned_leb();
    from.unsigned_leb();
    unit.files.push_back({std::move(text), folder});
  }
}

bool read_header(Cursor& from, Unit& unit, const LineSections& sections) {
  unit.version = from.number<uint16_t>();
  if (unit.version < 2 || unit.version > 5) return false;
  if (unit.version >= 5) from.skip(2);  // address_size, segment_selector_size
  from.offset(unit.wide);
  unit.instruction_bytes = from.number<uint8_t>();
  if (unit.version >= 4) from.skip(1);
  from.skip(1);  // default_is_stmt
  unit.line_base = from.number<int8_t>();
  unit.line_range = from.number<uint8_t>();
  unit.opcode_base = from.number<uint8_t>();
  for (unsigned i = 1; i < unit.opcode_base; ++i) unit.operands.push_back(from.number<uint8_t>());
  if (unit.line_range == 0 || from.failed()) return false;
  if (unit.version < 5) {
    read_old_names(from, unit);
    return !from.failed();
  }
  return read_names(from, unit, sections, unit.folders) &&
         read_names(from, unit, sections, unit.files);
}

struct Row {
  uint64_t address = 0, file = 1;
  int64_t line = 1;
};

/// Runs the line number program of a unit until a row covers the wanted address.
class Program {
 public:
  Program(const Unit& unit, uint64_t wanted, const std::string& passed_over)
      : unit_(unit), wanted_(wanted), passed_over_(passed_over) {}

  std::optional<Row> run(Cursor& from) {
    while (!from.at_end() && !found_) step(from);
    return found_;
  }

 private:
  enum Standard {
    kExtended,
    kCopy,
    kAdvancePc,
    kAdvanceLine,
    kSetFile,
    kConstAddPc = 8,
    kFixedAdvancePc
  };
  enum Extended { kEndSequence = 1, kSetAddress };

  void advance(uint64_t operations) { row_.address += operations * unit_.instruction_bytes; }

  bool is_passed_over(const Row& row) const {
    return !passed_over_.empty() && row.file < unit_.files.size() &&
           unit_.files[row.file].text.ends_with(passed_over_);
  }

  void emit() {
    if (has_last_ && last_.address <= wanted_ && wanted_ < row_.address) {
      found_ = is_passed_over(last_) && kept_ ? kept_ : last_;
    }
    last_ = row_;
    has_last_ = true;
    if (!is_passed_over(row_)) kept_ = row_;
  }

  void step_extended(Cursor& from) {
    const uint64_t bytes = from.unsigned_leb();
    if (bytes == 0) return;
    const auto opcode = from.number<uint8_t>();
    if (opcode == kEndSequence) {
      emit();
      row_ = {};
      has_last_ = false;
      kept_.reset();
      from.skip(bytes - 1);
    } else if (opcode == kSetAddress && bytes == 1 + sizeof(uint64_t)) {
      row_.address = from.number<uint64_t>();
    } else {
      from.skip(bytes - 1);
    }
  }

  void step(Cursor& from) {
    const auto opcode = from.number<uint8_t>();
    if (opcode >= unit_.opcode_base) {
      const unsigned special = opcode - unit_.opcode_base;
      advance(special / unit_.line_range);
      row_.line += unit_.line_base + static_cast<int>(special % unit_.line_range);
      return emit();
    }
    switch (opcode) {
      case kExtended:
        return step_extended(from);
      case kCopy:
        return emit();
      case kAdvancePc:
        return advance(from.unsigned_leb());
      case kAdvanceLine:
        row_.line += from.signed_leb();
        return;
      case kSetFile:
        row_.file = from.unsigned_leb();
        return;
      case kConstAddPc:
        return advance((255u - unit_.opcode_base) / unit_.line_range);
      case kFixedAdvancePc:
        row_.address += from.number<uint16_t>();
        return;
      default:
        for (unsigned i = 0; i < unit_.operands[opcode - 1u]; ++i) from.unsigned_leb();
    }
  }

  const Unit& unit_;
  const uint64_t wanted_;
  const std::string& passed_over_;
  Row row_, last_;
  std::optional<Row> kept_;  ///< The last row of the sequence that is not passed over.
  bool has_last_ = false;
  std::optional<Row> found_;
};

std::string path_of(const Unit& unit, uint64_t file) {
  if (file >= unit.files.size()) return {};
  const Name& name = unit.files[file];
  if (name.text.starts_with('/') || name.folder >= unit.folders.size()) return name.text;
  std::string folder = unit.folders[name.folder].text;
  if (!folder.starts_with('/') && unit.version >= 5 && !unit.folders[0].text.empty()) {
    folder = unit.folders[0].text + "/" + folder;
  }
  return folder.empty() ? name.text : folder + "/" + name.text;
}

}  // namespace

LinePlace line_at(const LineSections& sections, uint64_t address, const std::string& passed_over) {
  constexpr uint32_t kWide = 0xffffffff;
  Cursor all(sections.lines);
  while (!all.at_end()) {
    Unit unit;
    uint64_t bytes = all.number<uint32_t>();
    unit.wide = bytes == kWide;
    if (unit.wide) bytes = all.number<uint64_t>();
    Cursor from(all.take(bytes));
    if (!read_header(from, unit, sections)) continue;
    if (const auto row = Program(unit, address, passed_over).run(from)) {
      return {path_of(unit, row->file), static_cast<uint32_t>(row->line)};
    }
  }
  return {};
}

}  // namespace gpuemu::libcuda
