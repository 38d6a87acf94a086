// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/test_words.hpp"

#include <cctype>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "apps/lnetctl/option_parser.hpp"

namespace plnet::lst {
namespace {

using selftest::BrwTest;
using selftest::BulkOperation;
using selftest::Check;

std::unexpected<Error> wrong(std::string what) {
  return failure(Errc::kInvalid, std::move(what));
}

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& letter : low)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return low;
}

// The text after one of these names and '='.
std::optional<std::string> value_of(std::string_view word, std::string_view name,
                                    std::string_view short_name) {
  const std::size_t sign = word.find('=');
  if (sign == std::string_view::npos) return std::nullopt;
  const std::string_view given = word.substr(0, sign);
  if (given != name && (short_name.empty() || given != short_name)) return std::nullopt;
  return std::string(word.substr(sign + 1));
}

Outcome<std::uint32_t> read_size(const std::string& text) {
  const auto invalid = [&text] { return wrong(fmt::format("Invalid size {}", text)); };
  if (text.empty()) return invalid();
  std::string digits = text;
  std::int64_t unit = 1;
  if (text.back() == 'k') unit = 1024;
  if (text.back() == 'm') unit = std::int64_t{1024} * 1024;
  if (unit != 1) digits.pop_back();
  const auto number = apps::parse_c_number(digits);
  if (!number || *number <= 0) return invalid();
  if (*number > selftest::kBulkLengthMax)
    return wrong(fmt::format("Size exceed limitation: {} bytes", *number));
  if (*number * unit > selftest::kBulkLengthMax)
    return wrong(fmt::format("Size exceed limitation: {} bytes", *number * unit));
  return static_cast<std::uint32_t>(*number * unit);
}

Outcome<std::uint32_t> read_offset(const std::string& text) {
  const auto number = apps::parse_c_number(text);
  if (number && *number >= 0 && *number % selftest::kBulkWord == 0 &&
      *number <= std::numeric_limits<std::uint32_t>::max())
    return static_cast<std::uint32_t>(*number);
  return wrong(fmt::format("Invalid offset {}/{}, it should be postive value and multiple of {}",
                           text, number.value_or(0), selftest::kBulkWord));
}

Outcome<Check> read_check(const std::string& text) {
  if (text == "full") return Check::kFull;
  if (text == "simple") return Check::kSimple;
  if (text == "discard") return Check::kDiscard;
  return wrong(fmt::format("Unknow flag {}", text));
}

Outcome<void> take_check(Check check, std::optional<Check>& taken) {
  const bool clash =
      taken && *taken != check && (*taken == Check::kDiscard || check == Check::kDiscard);
  if (clash) return wrong("skip_rx_copy cannot be combined with another check");
  taken = check;
  return {};
}

// Reads one word; the error describes it.
Outcome<void> take_word(std::string_view given, BrwTest& test, std::optional<Check>& check) {
  const std::string word = lower(given);
  if (word == "read" || word == "r") {
    test.operation = BulkOperation::kRead;
  } else if (word == "write" || word == "w") {
    test.operation = BulkOperation::kWrite;
  } else if (word == "skip_rx_copy" || word == "skip-rx-copy") {
    return take_check(Check::kDiscard, check);
  } else if (const auto how = value_of(word, "check", "c")) {
    const auto read = read_check(*how);
    if (!read) return std::unexpected(read.error());
    return take_check(*read, check);
  } else if (const auto size = value_of(word, "size", "s")) {
    const auto read = read_size(*size);
    if (!read) return std::unexpected(read.error());
    test.length = *read;
  } else if (const auto offset = value_of(word, "off", "")) {
    const auto read = read_offset(*offset);
    if (!read) return std::unexpected(read.error());
    test.client_offset = test.server_offset = *read;
  } else {
    return wrong(fmt::format("Unknow parameter: {}", given));
  }
  return {};
}

}  // namespace

Outcome<std::variant<selftest::PingTest, selftest::BrwTest>> read_test(
    std::string_view test, std::span<const std::string> words) {
  const std::string name = lower(test);
  if (name == "ping") return selftest::PingTest{};
  if (name != "brw" && name != "bulk") return wrong(fmt::format("Unknow test name {}", test));
  BrwTest brw;
  std::optional<Check> check;
  for (const std::string& word : words) {
    if (auto taken = take_word(word, brw, check); !taken) return std::unexpected(taken.error());
  }
  brw.check = check.value_or(Check::kNone);
  return brw;
}

Outcome<Distribution> read_distribution(std::string_view text) {
  const auto invalid = [text] { return wrong(fmt::format("Invalid distribution: {}", text)); };
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return invalid();
  const auto distribute = apps::parse_c_number(text.substr(0, colon));
  const auto span = apps::parse_c_number(text.substr(colon + 1));
  const auto good = [](std::int64_t number) {
    return number > 0 && number <= std::numeric_limits<std::int32_t>::max();
  };
  if (!distribute || !span || !good(*distribute) || !good(*span)) return invalid();
  return Distribution{static_cast<std::uint32_t>(*distribute), static_cast<std::uint32_t>(*span)};
}

}  // namespace plnet::lst
