// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/files/nic_names.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/runtime/files/text_file.hpp"

namespace plnet::runtime {
namespace {

constexpr std::string_view kNet = "@kfi";
constexpr std::string_view kBlanks = " \t\r";

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

bool is_of_word(char letter) {
  return is_digit(letter) || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         letter == '.' || letter == ':' || letter == '_';
}

std::optional<std::uint32_t> number_of(std::string_view word) {
  const bool hexadecimal = word.starts_with("0x") || word.starts_with("0X");
  if (hexadecimal) word.remove_prefix(2);
  std::uint32_t number = 0;
  const char* const end = word.end();
  const auto [at, error] = std::from_chars(word.begin(), end, number, hexadecimal ? 16 : 10);
  if (error != std::errc{} || at != end) return std::nullopt;
  return number;
}

// Removes and returns the first word of the line; "" at its end.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const auto word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

std::string_view take_line(std::string_view& text) {
  const auto line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

// Quotes the path as one word of a shell.
std::string shell_word(std::string_view path) {
  std::string word = "'";
  for (const char letter : path)
    word += letter == '\'' ? std::string_view("'\\''") : std::string_view(&letter, 1);
  return word + "'";
}

Outcome<std::string> output_of(const std::string& program) {
  std::FILE* const pipe = popen(shell_word(program).c_str(), "re");
  if (pipe == nullptr) return failure(Errc::kIo, program + ": cannot be run");
  auto text = read_all(pipe, program);
  const int status = pclose(pipe);
  if (text && status != 0) {
    return failure(Errc::kIo, WIFEXITED(status) ? fmt::format("{}: ended with status {}", program,
                                                              WEXITSTATUS(status))
                                                : fmt::format("{}: was killed", program));
  }
  return text;
}

}  // namespace

Outcome<NicNames> NicNames::read(const std::string& path) {
  std::error_code closed;  // its folder may be inaccessible; reading it reports that
  const bool is_program =
      std::filesystem::is_regular_file(path, closed) && access(path.c_str(), X_OK) == 0;
  const auto text = is_program ? output_of(path) : read_file(path);
  if (!text) return std::unexpected(text.error());
  return parse(*text, path);
}

Outcome<NicNames> NicNames::look_up(const std::string& path, std::FILE* warnings,
                                    const std::string& usual) {
  if (!path.empty()) return read(path);
  std::error_code closed;
  if (!std::filesystem::exists(usual, closed)) return NicNames();
  auto names = read(usual);
  if (names) return names;
  fmt::print(warnings, "warning: {}; NIDs are shown without the names of hosts\n",
             names.error().what);
  return NicNames();
}

Outcome<NicNames> NicNames::parse(std::string_view text, std::string_view path) {
  NicNames names;
  for (unsigned number = 1; !text.empty(); ++number) {
    std::string_view line = take_line(text);
    line = line.substr(0, line.find('#'));
    const std::string_view address = take_word(line);
    if (address.empty()) continue;
    const auto wrong = [&](std::string_view what) {
      return failure(Errc::kInvalid, fmt::format("{}:{}: {}", path, number, what));
    };
    const auto parsed = number_of(address);
    if (!parsed) {
      return wrong(fmt::format("'{}'; expected the address of a NIC, decimal or with 0x", address));
    }
    const std::string_view name = take_word(line);
    if (name.empty()) return wrong("expected the name of a host behind the address");
    if (const auto more = take_word(line); !more.empty())
      return wrong(fmt::format("'{}'; expected the end of the line or #", more));
    const auto [at, is_new] = names.names_.emplace(*parsed, name);
    if (!is_new) return wrong(fmt::format("{} has a name already: {}", address, at->second));
  }
  return names;
}

std::string_view NicNames::name_of(std::uint32_t address) const {
  const auto found = names_.find(address);
  return found == names_.end() ? std::string_view() : found->second;
}

std::string NicNames::names_in(std::string_view line) const {
  std::string all;
  for (auto at = line.find(kNet); at != std::string_view::npos; at = line.find(kNet, at + 1)) {
    auto begin = at;
    while (begin > 0 && is_digit(line[begin - 1]))
      --begin;
    auto end = at + kNet.size();
    while (end < line.size() && is_digit(line[end]))
      ++end;
    const bool is_part =
        (begin > 0 && is_of_word(line[begin - 1])) || (end < line.size() && is_of_word(line[end]));
    const auto address = number_of(line.substr(begin, at - begin));
    if (is_part || !address) continue;
    const std::string_view name = name_of(*address);
    if (!name.empty()) all += (all.empty() ? "" : ", ") + std::string(name);
  }
  return all;
}

std::string NicNames::annotate(std::string_view text) const {
  if (names_.empty() || !text.contains(kNet)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const bool ends = text.contains('\n');
    const std::string_view line = take_line(text);
    out += line;
    if (const std::string names = names_in(line); !names.empty()) out += "  # " + names;
    if (ends) out += '\n';
  }
  return out;
}

}  // namespace plnet::runtime
