// Text that scripts and compilers wrote, made fit for documents. Whatever comes in, valid UTF-8
// without control characters comes out.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu::cli {

/// Invalid UTF-8 becomes U+FFFD; control characters, characters that XML forbids and those that
/// turn the direction of text become blanks. Line breaks and tabs stay.
std::string clean(std::string_view text);

/// For text and for attributes in double quotes, in HTML and XML; line breaks of attributes too.
std::string markup(std::string_view text);

/// One cell of a Markdown table: one line, no markup, no link, at most `characters_max` bytes.
std::string markdown_cell(std::string_view text, size_t characters_max);

/// At most `bytes_max` bytes, cut between characters, "..." behind what was cut.
std::string clipped(std::string_view text, size_t bytes_max);

}  // namespace gpuemu::cli
