// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/yaml_document.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <libfyaml.h>

#include "lib/base/check.hpp"
#include "lib/runtime/config/yaml_text.hpp"

namespace plnet::runtime {
namespace {

struct Destroy {
  void operator()(fy_parser* parser) const { fy_parser_destroy(parser); }
  void operator()(fy_diag* diag) const { fy_diag_destroy(diag); }
};

// libfyaml prints errors without a place (such as an unknown version); this function replaces
// stderr.
void discard_output(fy_diag* /*diag*/, void* user, const char* text, std::size_t length) {
  auto& kept = *static_cast<std::string*>(user);
  constexpr std::size_t kEnough = 256;
  if (kept.size() < kEnough) kept.append(text, std::min(length, kEnough - kept.size()));
}

std::string_view text_of(fy_token* token) {
  if (token == nullptr) return {};
  std::size_t length = 0;
  const char* const text = fy_token_get_text(token, &length);
  return text == nullptr ? std::string_view{} : std::string_view{text, length};
}

std::optional<Position> position_of(const fy_mark* mark) {
  if (mark == nullptr || mark->line < 0 || mark->column < 0) return std::nullopt;
  return Position{static_cast<unsigned>(mark->line) + 1, static_cast<unsigned>(mark->column) + 1};
}

// The place where the event's text begins; libfyaml's mark is after the opening quote or asterisk.
std::optional<Position> position_of(fy_event& event) {
  auto at = position_of(fy_event_start_mark(&event));
  bool behind = event.type == FYET_ALIAS;
  if (event.type == FYET_SCALAR && event.scalar.value != nullptr) {
    const auto style = fy_token_scalar_style(event.scalar.value);
    behind = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
  }
  if (at && behind && at->column > 1) --at->column;
  return at;
}

bool is_null_word(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kWords{"", "~", "null", "Null", "NULL"};
  return std::ranges::find(kWords, text) != kWords.end();
}

// Turns the events of the parser into nodes.
class TreeBuilder {
 public:
  explicit TreeBuilder(ConfigErrors& errors) : errors_(errors) {}

  // False: reading ends.
  bool take(fy_event& event) {
    if (const auto at = position_of(event)) last_ = *at;
    if (!accept_properties(event)) return false;
    switch (event.type) {
      case FYET_DOCUMENT_START: return start_document();
      case FYET_MAPPING_START: return open(NodeKind::kMapping);
      case FYET_SEQUENCE_START: return open(NodeKind::kSequence);
      case FYET_MAPPING_END:
      case FYET_SEQUENCE_END: close(); return true;
      case FYET_SCALAR: return scalar(event);
      case FYET_ALIAS:
        return refuse("aliases (*name) are not supported, expected the value itself");
      case FYET_STREAM_END: ended_ = true; return true;
      default: return true;
    }
  }

  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] Position last() const { return last_; }
  [[nodiscard]] Node root() && { return std::move(root_); }

 private:
  struct Level {
    Node* node;
    bool has_key = false;  // the key was read, its value comes next
    std::string key;
    Position key_at;
  };

  bool refuse(std::string what) {
    errors_.add(last_, std::move(what));
    return false;
  }

  bool accept_properties(fy_event& event) {
    if (event.type != FYET_ALIAS && fy_event_get_anchor_token(&event) != nullptr) {
      return refuse("anchors (&name) are not supported, expected a value without one");
    }
    if (fy_event_get_tag_token(&event) != nullptr) {
      return refuse("tags (!name) are not supported, expected a value without one");
    }
    return true;
  }

  bool start_document() {
    if (++documents_ == 1) return true;
    return refuse("a second document begins here, expected only one in a file");
  }

  bool scalar(fy_event& event) {
    fy_token* const token = event.scalar.value;
    const std::string_view text = text_of(token);
    const bool plain = token == nullptr || fy_token_scalar_style(token) == FYSS_PLAIN;
    const bool is_null = plain && is_null_word(text);
    if (wants_key()) return take_key(text, is_null);
    Node* const node = append(is_null ? NodeKind::kNull : NodeKind::kScalar);
    if (node == nullptr) return false;
    if (!is_null) node->text = text;
    const bool placed = position_of(event).has_value();
    if (!placed && !levels_.empty()) node->at = node->key_at;
    return true;
  }

  [[nodiscard]] bool wants_key() const {
    return !levels_.empty() && levels_.back().node->kind == NodeKind::kMapping &&
           !levels_.back().has_key;
  }

  bool take_key(std::string_view text, bool is_null) {
    if (is_null) return refuse("empty key, expected `key: value`");
    Level& level = levels_.back();
    level.has_key = true;
    level.key = text;
    level.key_at = last_;
    return true;
  }

  bool open(NodeKind kind) {
    if (wants_key()) return refuse("a list or mapping as key, expected plain text");
    if (levels_.size() >= kMaxYamlDepth) {
      return refuse(fmt::format("nested too deeply, expected at most {} levels", kMaxYamlDepth));
    }
    Node* const node = append(kind);
    if (node == nullptr) return false;
    levels_.push_back({.node = node, .key = {}, .key_at = {}});
    return true;
  }

  void close() {
    PLNET_CHECK(!levels_.empty(), "libfyaml closes what it opened");
    if (levels_.back().node->kind == NodeKind::kMapping) report_duplicates(*levels_.back().node);
    levels_.pop_back();
  }

  // Pointers to nodes stay valid: a vector only grows while its last element is closed.
  Node* append(NodeKind kind) {
    if (++nodes_ > kMaxYamlNodes) {
      refuse(fmt::format("too many values, expected at most {}", kMaxYamlNodes));
      return nullptr;
    }
    Node node{.kind = kind, .at = last_, .text = {}, .items = {}, .key = {}, .key_at = last_};
    if (levels_.empty()) {
      root_ = std::move(node);
      return &root_;
    }
    Level& level = levels_.back();
    if (level.node->kind == NodeKind::kMapping) {
      node.key = std::move(level.key);
      node.key_at = level.key_at;
      level.has_key = false;
    }
    return &level.node->items.emplace_back(std::move(node));
  }

  void report_duplicates(const Node& mapping) {
    std::map<std::string_view, Position> first;
    for (const Node& item : mapping.items) {
      const auto [seen, fresh] = first.try_emplace(item.key, item.key_at);
      if (fresh) continue;
      errors_.add(item.key_at,
                  fmt::format("duplicate key '{}', given before at {}:{}; expected each key once",
                              shown(item.key), seen->second.line, seen->second.column));
    }
  }

  ConfigErrors& errors_;
  Node root_;
  std::vector<Level> levels_;
  Position last_;
  std::size_t nodes_ = 0;
  unsigned documents_ = 0;
  bool ended_ = false;
};

std::string explain(std::string_view message) {
  if (message.starts_with("tab character")) return fmt::format("{}, expected spaces", message);
  return shown(message);
}

void add_parser_errors(fy_diag& diag, const std::string& printed, Position last,
                       ConfigErrors& errors) {
  void* previous = nullptr;
  bool any = false;
  while (const fy_diag_error* error = fy_diag_errors_iterate(&diag, &previous)) {
    const Position at{static_cast<unsigned>(std::max(error->line, 1)),
                      static_cast<unsigned>(std::max(error->column, 1))};
    errors.add(at, explain(error->msg == nullptr ? "not valid YAML" : error->msg));
    any = true;
  }
  if (any) return;
  const std::string_view words(printed.data(), std::min(printed.find('\n'), printed.size()));
  errors.add(last, words.empty() ? "not valid YAML" : explain(words));
}

void run_parser(std::string_view text, TreeBuilder& builder, ConfigErrors& errors) {
  std::string printed;
  fy_diag_cfg diag_config{};
  fy_diag_cfg_default(&diag_config);
  diag_config.fp = nullptr;
  diag_config.output_fn = discard_output;
  diag_config.user = &printed;
  diag_config.level = FYET_ERROR;
  diag_config.colorize = false;
  diag_config.show_source = diag_config.show_position = false;
  diag_config.show_type = diag_config.show_module = false;
  const std::unique_ptr<fy_diag, Destroy> diag(fy_diag_create(&diag_config));
  if (diag == nullptr) return errors.add({}, "out of memory");
  fy_diag_set_collect_errors(diag.get(), true);

  fy_parse_cfg config{};
  config.search_path = "";
  config.diag = diag.get();
  config.flags = FYPCF_QUIET;
  const std::unique_ptr<fy_parser, Destroy> parser(fy_parser_create(&config));
  if (parser == nullptr || fy_parser_set_string(parser.get(), text.data(), text.size()) != 0) {
    return errors.add({}, "out of memory");
  }
  bool reading = true;
  while (reading) {
    fy_event* const event = fy_parser_parse(parser.get());
    if (event == nullptr) break;
    reading = builder.take(*event);
    fy_parser_event_free(parser.get(), event);
  }
  if (reading && !builder.ended()) {
    add_parser_errors(*diag, printed, builder.last(), errors);
  }
}

// libfyaml reads a collection in brackets to its end before it reports its beginning, and keeps
// some 400 bytes for each sign of it. So limits of depth and number must hold before. Quotes are
// not looked at: no document of LNet's has so many brackets in its texts.
std::optional<UnfitText> find_costly_flow(std::string_view text) {
  constexpr std::size_t kOpenMax = 16 * kMaxYamlDepth;
  std::size_t open = 0;
  std::size_t signs = 0;
  unsigned line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    if (c != '[' && c != '{' && c != ',' && c != ']' && c != '}') continue;
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kOpenMax) {
      return UnfitText{{line, 1},
                       fmt::format("nested too deeply, expected at most {} levels", kMaxYamlDepth)};
    }
    if (open > 0 && ++signs > kMaxYamlNodes) {
      return UnfitText{{line, 1},
                       fmt::format("too many values, expected at most {}", kMaxYamlNodes)};
    }
  }
  return std::nullopt;
}

}  // namespace

const Node* Node::find(std::string_view wanted) const {
  const auto found = std::ranges::find(items, wanted, &Node::key);
  return found == items.end() ? nullptr : &*found;
}

std::optional<Node> parse_yaml(std::string_view text, ConfigErrors& errors) {
  auto unfit = find_unfit_text(text);
  if (!unfit) unfit = find_costly_flow(text);
  if (unfit) {
    errors.add(unfit->at, unfit->what);
    return std::nullopt;
  }
  TreeBuilder builder(errors);
  run_parser(text, builder, errors);
  if (!builder.ended()) return std::nullopt;
  return std::move(builder).root();
}

std::expected<Node, ConfigErrors> parse_yaml(std::string_view text, std::string_view file_name) {
  ConfigErrors errors(text, file_name);
  auto root = parse_yaml(text, errors);
  if (root && errors.empty()) return std::move(*root);
  return std::unexpected(std::move(errors));
}

}  // namespace plnet::runtime
