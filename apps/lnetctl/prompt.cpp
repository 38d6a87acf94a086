// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/prompt.hpp"

#include <cstdlib>
#include <memory>
#include <utility>

#include "apps/lnetctl/known_names.hpp"
#include "apps/lnetctl/line_editor.hpp"

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

std::vector<std::string> candidates_at(const CommandTable& table, Session& session,
                                       std::string_view line) {
  const CommandTable::Awaited awaited = table.awaited(line);
  std::vector<std::string> words;
  if (!awaited.of_option) words = table.candidates(line);
  const std::string_view begun = line.substr(line.find_last_of(" \t") + 1);
  for (std::string& name : known_names(awaited.values, begun, session))
    words.push_back(std::move(name));
  return words;
}

namespace {

// Without the editor, `?` at the end of a line asks for what may follow.
int help_in_line(const CommandTable& table, Session& session, std::string_view line) {
  print_text(session.out, table.help_at(line.substr(0, line.rfind('?'))));
  return 0;
}

constexpr const char* kPrompt = "lnetctl > ";

// Lines from a terminal by the editor, all others as they come.
class Lines {
 public:
  Lines(const CommandTable& table, Session& session, bool interactive)
      : session_(session), interactive_(interactive) {
    if (!interactive) return;
    editor_ = open_line_editor(
        session.in, session.out, session.err, kPrompt,
        {.candidates = [&table, &session](
                           std::string_view line) { return candidates_at(table, session, line); },
         .help = [&table](std::string_view line) { return table.help_at(line); }});
  }
  ~Lines() { std::free(buffer_); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  std::optional<std::string> next() {
    if (editor_) return editor_->next();
    if (interactive_) print_text(session_.out, kPrompt);
    const ssize_t length = ::getline(&buffer_, &size_, session_.in);
    if (length < 0) return std::nullopt;
    return std::string(buffer_, static_cast<std::size_t>(length));
  }

 private:
  Session& session_;
  const bool interactive_;
  std::unique_ptr<LineEditor> editor_;
  char* buffer_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

int run_prompt(const CommandTable& table, Session& session, bool interactive) {
  int status = 0;
  Lines lines(table, session, interactive);
  while (const auto line = lines.next()) {
    const auto words = split_line(*line);
    if (!words) {
      print_text(session.err, "a quote is left open in this line\n");
      status = runtime::wire_errno(Errc::kInvalid) & 0xff;
      continue;
    }
    if (words->empty()) continue;
    if (words->front() == "quit" || words->front() == "exit") break;
    status = words->back().ends_with('?') ? help_in_line(table, session, *line)
                                          : table.run(*words, session);
  }
  return status;
}

}  // namespace plnet::apps
