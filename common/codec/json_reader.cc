// Parses JSON within limits, and has one reader per kind of value with its error message.
#include "common/codec/json_reader.h"

#include <cstring>

#include <fmt/format.h>

#include "common/base/limits.h"
#include "common/codec/base64.h"

namespace gpuemu {
namespace {

using Json = nlohmann::json;

/// JSON values per message. Each takes at least 16 bytes once parsed, so a message that consists
/// only of "0," is refused before it fills the memory.
constexpr size_t kJsonValuesMax = size_t{32} << 20;

/// Counts nesting and values without parsing, because the parser would build everything first.
Status check_size(std::string_view text) {
  int depth = 0;
  size_t values = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      // Strings are nearly all of a large message, so jump from quote to quote.
      do {
        const void* quote = std::memchr(text.data() + i + 1, '"', text.size() - i - 1);
        if (quote == nullptr) return ok_status();  // The parser reports where it ends.
        i = static_cast<size_t>(static_cast<const char*>(quote) - text.data());
        size_t backslashes = 0;
        while (text[i - 1 - backslashes] == '\\') ++backslashes;
        if (backslashes % 2 == 0) break;
      } while (true);
    } else if (c == '{' || c == '[') {
      if (++depth > kJsonDepthMax) {
        return error(ErrorCode::InvalidArgument, "JSON nests deeper than {} levels", kJsonDepthMax);
      }
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',' && ++values > kJsonValuesMax) {
      return error(ErrorCode::InvalidArgument,
                   "JSON holds more than {} values; split the request or send tensors as base64",
                   kJsonValuesMax);
    }
  }
  return ok_status();
}

std::string excerpt(const std::string& text) {
  constexpr size_t kShown = 60;
  if (text.size() <= kShown) return text;
  // Cut before the lead byte of a sequence, not inside it.
  size_t end = kShown;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string describe(const Json* got) {
  if (got == nullptr) return "nothing";
  switch (got->type()) {
    case Json::value_t::object:
      return fmt::format("an object of {} members", got->size());
    case Json::value_t::array:
      return fmt::format("an array of {} elements", got->size());
    case Json::value_t::string:
      return fmt::format("\"{}\"", excerpt(got->get_ref<const std::string&>()));
    default:
      return got->dump();
  }
}

template <typename Enum>
std::string names_up_to(Enum last) {
  std::string names;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (i > 0) names += ' ';
    names += name_of(static_cast<Enum>(i));
  }
  return names;
}

}  // namespace

Result<Json> parse_object(std::string_view text) {
  GPUEMU_TRY(check_size(text));
  try {
    Json object = Json::parse(text.begin(), text.end());
    if (!object.is_object()) {
      return error(ErrorCode::InvalidArgument, "the message is {}, expected a JSON object",
                   describe(&object));
    }
    return object;
  } catch (const Json::exception& failure) {
    // Remove the tag of "[json.exception.parse_error.101] parse error at line 1, ...".
    const std::string what = failure.what();
    const size_t tag = what.find("] ");
    return error(ErrorCode::InvalidArgument, "the message is not JSON: {}",
                 excerpt(tag == std::string::npos ? what : what.substr(tag + 2)));
  } catch (const std::bad_alloc&) {
    return error(ErrorCode::ResourceExhausted, "a message of {} bytes does not fit into memory",
                 text.size());
  }
}

void JsonReader::fail(const std::string& expected, const Json* got) {
  if (error_) return;
  error_ = got == nullptr ? error(ErrorCode::InvalidArgument, "{} is missing", member())
                          : error(ErrorCode::InvalidArgument, "{}: expected {}, got {}", member(),
                                  expected, describe(got));
}

const JsonReader::Json* JsonReader::enter(const char* name, bool is_required) {
  if (error_) return nullptr;
  const auto member = object_->find(name);
  const bool is_missing = member == object_->end();
  if (!is_required && (is_missing || member->is_null())) return nullptr;
  path_.emplace_back(name);
  if (!is_missing) return &*member;
  fail("something", nullptr);
  path_.pop_back();
  return nullptr;
}

std::string JsonReader::member() const { return fmt::format("member '{}'", fmt::join(path_, ".")); }

void JsonReader::json_text(const char* name, std::string& json) {
  if (error_) return;
  const auto member = object_->find(name);
  if (member != object_->end() && !member->is_null()) json = member->dump();
}

void JsonReader::at_most(const char* name, uint64_t value, uint64_t limit, const char* unit) {
  if (error_ || value <= limit) return;
  path_.push_back(name);
  error_ =
      error(ErrorCode::InvalidArgument, "{}: {}{}, the limit is {}", member(), value, unit, limit);
  path_.pop_back();
}

void JsonReader::read(const Json& from, bool& value) {
  if (!from.is_boolean()) return fail("true or false", &from);
  value = from.get<bool>();
}

void JsonReader::read(const Json& from, double& value) {
  if (from.is_null()) {
    value = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  if (!from.is_number()) return fail("a number", &from);
  value = from.get<double>();
}

void JsonReader::read(const Json& from, std::string& value) {
  if (!from.is_string()) return fail("a string", &from);
  value = from.get_ref<const std::string&>();
}

int64_t JsonReader::read_signed(const Json& from, int64_t smallest, int64_t largest) {
  const bool in_range = from.is_number_unsigned()
                            ? from.get<uint64_t>() <= static_cast<uint64_t>(largest)
                            : from.is_number_integer() && from.get<int64_t>() >= smallest &&
                                  from.get<int64_t>() <= largest;
  if (in_range) return from.get<int64_t>();
  fail(fmt::format("an integer from {} to {}", smallest, largest), &from);
  return 0;
}

uint64_t JsonReader::read_unsigned(const Json& from, uint64_t largest) {
  // "-0" and values built by a program have the signed kind although they are not negative.
  const bool in_range = from.is_number_unsigned()
                            ? from.get<uint64_t>() <= largest
                            : from.is_number_integer() && from.get<int64_t>() >= 0 &&
                                  static_cast<uint64_t>(from.get<int64_t>()) <= largest;
  if (in_range) return from.get<uint64_t>();
  fail(fmt::format("an integer from 0 to {}", largest), &from);
  return 0;
}

void JsonReader::read(const Json& from, DType& value) {
  const auto dtype =
      from.is_string() ? dtype_from_name(from.get_ref<const std::string&>()) : std::nullopt;
  if (!dtype) return fail("one of " + names_up_to(DType::Bool), &from);
  value = *dtype;
}

#define GPUEMU_READ_ENUM(Type, parse)                                                         \
  void JsonReader::read(const Json& from, Type& value) {                                      \
    const auto found =                                                                        \
        from.is_string() ? parse(from.get_ref<const std::string&>()) : std::optional<Type>(); \
    if (!found) return fail("one of " + names_up_to(kLast##Type), &from);                     \
    value = *found;                                                                           \
  }
GPUEMU_WIRE_ENUMS(GPUEMU_READ_ENUM)
#undef GPUEMU_READ_ENUM

void JsonReader::read(const Json& from, std::vector<std::byte>& bytes) {
  if (!from.is_string()) return fail("base64 text", &from);
  auto decoded = decode_base64(from.get_ref<const std::string&>());
  if (!decoded) return fail("base64 text (" + decoded.error().message + ")", &from);
  bytes = *std::move(decoded);
}

void JsonReader::read_data(const Json& from, uint64_t bytes, Tensor& tensor) {
  const auto misfit = [&](uint64_t given) {
    fail(fmt::format("{} bytes of data for shape {} of {}", bytes, to_string(tensor.shape),
                     name_of(tensor.dtype)),
         &from);
    error_->message += fmt::format(" with {} bytes of data", given);
  };
  const auto memory = from.find("memory");
  if (fetch_ == nullptr || memory == from.end() || memory->is_null()) {
    required("data", tensor.data);
    if (!error_ && tensor.data.size() != bytes) misfit(tensor.data.size());
    return;
  }
  SharedTensorRef shared;
  required("memory", shared);
  if (error_) return;
  if (shared.bytes != bytes) return misfit(shared.bytes);
  auto fetched = (*fetch_)(shared);
  if (fetched) {
    tensor.data = *std::move(fetched);
  } else {
    error_ = fetched.error().with_context(member());
  }
}

void JsonReader::read(const Json& from, Tensor& tensor) {
  if (!from.is_object()) return fail("a tensor (shape, strides, dtype, data)", &from);
  const Json* const outer = object_;
  object_ = &from;
  required("shape", tensor.shape);
  required("dtype", tensor.dtype);
  // Clients send NumPy's byte strides of the array before packing: any integers, never used.
  Strides ignored;
  optional("strides", ignored);
  if (!error_) {
    const auto count = checked_element_count(tensor.shape);
    if (count) {
      read_data(from, static_cast<uint64_t>(*count) * byte_size(tensor.dtype), tensor);
    } else {
      fail("a shape that can be stored (" + count.error().message + ")", &from);
    }
  }
  object_ = outer;
}

void JsonReader::read(const Json& from, CaseInput& input) {
  read(from, input.tensor);
  if (error_) return;
  const Json* const outer = object_;
  object_ = &from;
  required("strides", input.strides);
  object_ = outer;
}

}  // namespace gpuemu
