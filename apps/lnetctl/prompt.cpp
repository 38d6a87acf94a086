// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/prompt.hpp"

#include <cstdlib>
#include <memory>

namespace plnet::apps {

std::optional<std::vector<std::string>> split_line(std::string_view line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (quote == 0 && blank) {
      in_word = false;
      continue;
    }
    if (quote == 0 && !in_word && c == '#') break;
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
      continue;
    }
    if (c == quote) {
      quote = 0;
      continue;
    }
    if (c == '\\' && quote != '\'' && i + 1 < line.size()) c = line[++i];
    words.back() += c;
  }
  if (quote != 0) return std::nullopt;
  return words;
}

int run_prompt(const CommandTable& table, Session& session, bool interactive) {
  int status = 0;
  char* buffer = nullptr;
  std::size_t size = 0;
  while (true) {
    if (interactive) print_text(session.out, "lnetctl > ");
    const ssize_t length = ::getline(&buffer, &size, session.in);
    if (length < 0) break;
    const auto words = split_line({buffer, static_cast<std::size_t>(length)});
    if (!words) {
      print_text(session.err, "a quote is left open in this line\n");
      status = runtime::wire_errno(Errc::kInvalid) & 0xff;
      continue;
    }
    if (words->empty()) continue;
    if (words->front() == "quit" || words->front() == "exit") break;
    status = table.run(*words, session);
  }
  std::free(buffer);
  return status;
}

}  // namespace plnet::apps
