// Makes text from scripts and compilers safe for documents. For any input, the output is valid
// UTF-8 without control characters.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu::cli {

/// Replaces invalid UTF-8 by U+FFFD, and control characters, characters that XML forbids and those
/// that change the direction of text by blanks. Line breaks and tabs stay.
std::string clean(std::string_view text);

/// Escapes for HTML and XML text and for attributes in double quotes, including line breaks in
/// attributes.
std::string markup(std::string_view text);

/// Formats a cell of a Markdown table: one line, no markup, no links, at most `characters_max`
/// bytes.
std::string markdown_cell(std::string_view text, size_t characters_max);

/// Returns at most `bytes_max` bytes, cut between characters, with "..." in place of the rest.
std::string clipped(std::string_view text, size_t bytes_max);

}  // namespace gpuemu::cli
