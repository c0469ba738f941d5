// Text helpers. All of them treat text as bytes unless the name says code points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace primus {

std::vector<std::string> split(std::string_view text, char separator);  // keeps empty parts
std::vector<std::string> split_whitespace(std::string_view text);       // no empty parts
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);                          // ASCII only
bool starts_with_ci(std::string_view text, std::string_view prefix);  // ASCII case ignored

// The whole text as a number, or nothing. Integers: optional sign and digits; overflow is nothing.
std::optional<int64_t> parse_int(std::string_view text);
// Decimal with optional sign, point and exponent; "inf"/"nan" and hexadecimal are nothing, overflow is nothing.
std::optional<double> parse_double(std::string_view text);

// Shortest text that reads back to the same double: 0.1 -> "0.1", 1e-05 -> "1e-05", 3 -> "3.0", inf -> ".inf".
std::string format_double(double value);
// 1234567 -> "1,234,567"; 8030261248 -> "8.03 B" (human); bytes -> "1.5 GiB"; seconds -> "1 h 02 min".
std::string format_thousands(int64_t value);
std::string format_count(double value);
std::string format_bytes(double value_bytes);
std::string format_duration(double seconds);

// Damerau-Levenshtein distance (adjacent swaps count one).
int edit_distance(std::string_view a, std::string_view b);
// The closest candidates, best first, at most `most`, none farther than a third of the word's length (at least 2).
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates, size_t most = 3);
// "did you mean 'a'?" / "did you mean 'a', 'b' or 'c'?" / "" when nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// The one rule about whose values are printed as "***" everywhere, for keys and environment variables. True for
// HF_TOKEN, wandb_key, db_password; false for words of training that only sound like it: eod_token,
// moe_token_dispatcher_type, tiktoken_pattern, calculate_per_token_loss, and names of variables (num_nodes_env_key).
bool names_a_secret(std::string_view name);

bool is_valid_utf8(std::string_view text);
size_t num_code_points(std::string_view text);
// UTF-8 text with U+FFFD for what a terminal would obey: control characters other than newline and tab.
std::string without_controls(std::string_view text);
// Non-ASCII and control bytes replaced, for console lines that must stay one line.
std::string printable_ascii(std::string_view text);
// The same of the first line alone: what libraries throw carries a backtrace after it.
std::string first_ascii_line(std::string_view text);

}  // namespace primus
