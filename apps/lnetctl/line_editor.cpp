// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/line_editor.hpp"

#include <algorithm>
#include <utility>

#include <histedit.h>
#include <unistd.h>

namespace plnet::apps {
namespace {

constexpr int kHistoryLines = 500;

std::string_view last_word(std::string_view line) {
  const std::size_t blank = line.find_last_of(" \t");
  return blank == std::string_view::npos ? line : line.substr(blank + 1);
}

// The longest beginning that all words share.
std::string_view shared_beginning(const std::vector<std::string>& words) {
  std::string_view shared = words.front();
  for (const std::string_view word : words) {
    const auto differ = std::ranges::mismatch(shared, word);
    shared = shared.substr(0, static_cast<std::size_t>(differ.in1 - shared.begin()));
  }
  return shared;
}

class EditedLines final : public LineEditor {
 public:
  EditedLines(EditLine* editor, std::FILE* out, const char* prompt, Words words)
      : editor_(editor),
        history_(::history_init()),
        out_(out),
        prompt_(prompt),
        words_(std::move(words)) {
    HistEvent event{};
    ::history(history_, &event, H_SETSIZE, kHistoryLines);
    ::history(history_, &event, H_SETUNIQUE, 1);
    ::el_set(editor_, EL_CLIENTDATA, this);
    ::el_set(editor_, EL_PROMPT, &EditedLines::prompt_of);
    ::el_set(editor_, EL_EDITOR, "emacs");
    ::el_set(editor_, EL_HIST, ::history, history_);
    ::el_set(editor_, EL_ADDFN, "lnetctl-complete", "complete the word", &EditedLines::complete);
    ::el_set(editor_, EL_ADDFN, "lnetctl-help", "list what may follow", &EditedLines::help);
    ::el_set(editor_, EL_BIND, "^I", "lnetctl-complete", nullptr);
    ::el_set(editor_, EL_BIND, "?", "lnetctl-help", nullptr);
    ::el_source(editor_, nullptr);  // ~/.editrc
  }
  ~EditedLines() override {
    ::el_end(editor_);
    ::history_end(history_);
  }
  EditedLines(const EditedLines&) = delete;
  EditedLines& operator=(const EditedLines&) = delete;

  [[nodiscard]] std::optional<std::string> next() override {
    int count = 0;
    const char* const line = ::el_gets(editor_, &count);
    if (line == nullptr || count <= 0) return std::nullopt;
    HistEvent event{};
    if (count > 1) ::history(history_, &event, H_ENTER, line);
    return std::string(line, static_cast<std::size_t>(count));
  }

 private:
  static EditedLines& of(EditLine* editor) {
    void* self = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<EditedLines*>(self);
  }
  static std::string_view before_cursor(EditLine* editor) {
    const LineInfo* const line = ::el_line(editor);
    return {line->buffer, static_cast<std::size_t>(line->cursor - line->buffer)};
  }
  static char* prompt_of(EditLine* editor) { return of(editor).prompt_.data(); }

  static unsigned char complete(EditLine* editor, int /*key*/) {
    EditedLines& self = of(editor);
    const std::string_view line = before_cursor(editor);
    const std::vector<std::string> words = self.words_.candidates(line);
    if (words.empty()) return CC_ERROR;
    const std::string_view begun = last_word(line);
    std::string more(shared_beginning(words).substr(begun.size()));
    if (words.size() == 1) more += ' ';
    if (!more.empty()) return ::el_insertstr(editor, more.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
    std::string list = "\n";
    for (const std::string& word : words)
      list += word + "  ";
    self.put(list + "\n");
    return CC_REDISPLAY;
  }
  static unsigned char help(EditLine* editor, int /*key*/) {
    EditedLines& self = of(editor);
    self.put("?\n" + self.words_.help(before_cursor(editor)));
    return CC_REDISPLAY;
  }
  void put(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), out_);
    std::fflush(out_);
  }

  EditLine* const editor_;
  History* const history_;
  std::FILE* const out_;
  std::string prompt_;
  const Words words_;
};

}  // namespace

std::unique_ptr<LineEditor> open_line_editor(std::FILE* in, std::FILE* out, std::FILE* err,
                                             const char* prompt, LineEditor::Words words) {
  if (::isatty(::fileno(in)) != 1) return nullptr;
  EditLine* const editor = ::el_init("lnetctl", in, out, err);
  if (editor == nullptr) return nullptr;
  return std::make_unique<EditedLines>(editor, out, prompt, std::move(words));
}

}  // namespace plnet::apps
