// SPDX-License-Identifier: BSD-3-Clause
// A verb, the request that a node answers, as a row for both the node and lnetctl. The node checks
// requests by it; lnetctl reads command lines and prints help by it. A row is plain data, so
// programs can carry it without a node or lnetctl.
//
//   inline constexpr std::array kPeerRows{
//       show("peer show", "peer", "peers and their NIs", {text("nid", 'n', "NID", "only this")}),
//       change("peer set", "set", "peer", "change peer NIs", {flag("all", 'a', "all peer NIs")})};
//   inline constexpr VerbRows kPeerVerbs{kPeerRows};
//
//   verbs.add(kPeerVerbs["peer show"], handler);  // on the node
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"

namespace plnet::runtime {

enum class OptionKind : std::uint8_t {
  kFlag,
  kText,
  kTexts,   // may be repeated: the values joined with commas
  kNumber,  // decimal, 0x hexadecimal or 0 octal, as in C
  kLevel,   // -v, -v 2, -v2, --verbose, --verbose 2, --verbose=2; alone it means 1
  kList,    // of strings; in requests only
  kAny,     // in requests only
};

struct OptionRow {
  std::string_view name;  // long, without dashes; a request has '_' in place of '-'
  char short_name = 0;    // 0 = none
  OptionKind kind = OptionKind::kText;
  std::string_view value_name{};  // in the help: NET, N; "" for flags
  std::string_view help{};
  bool required = false;  // in a request
  bool local = false;     // for lnetctl alone: not in a request
};

// A short list that contains its rows, so that a row of a verb is a value.
class OptionList {
 public:
  static constexpr std::size_t kOptionsMax = 16;  // `net add` has the most

  constexpr OptionList() = default;
  constexpr OptionList(std::initializer_list<OptionRow> rows) : size_(rows.size()) {
    PLNET_CHECK(rows.size() <= kOptionsMax, "a verb has a bounded number of options");
    std::ranges::copy(rows, rows_.begin());
  }

  [[nodiscard]] constexpr const OptionRow* begin() const { return rows_.data(); }
  [[nodiscard]] constexpr const OptionRow* end() const { return rows_.data() + size_; }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }

 private:
  std::array<OptionRow, kOptionsMax> rows_{};
  std::size_t size_ = 0;
};

// Words of a command line besides options.
struct PositionalRow {
  std::string_view usage{};  // in the help: "[FILE]"
  std::string_view arg{};    // of the request: a string if there is at most one, else a list;
                             // "" = for lnetctl alone
  std::size_t min = 0;
  std::size_t max = 0;
};

enum class VerbAccess : std::uint8_t { kReads, kChanges };

// The form in which lnetctl prints a success.
enum class VerbAnswer : std::uint8_t {
  kYaml,
  kText,  // the value of the key `text`, unchanged
  kNothing,
};

struct VerbRow {
  std::string_view words;  // the name of the verb and of the command: "net show"
  std::string_view help{};
  OptionList options{};
  PositionalRow positional{};
  OptionList args{};  // further arguments of a request, which code of the client fills in
  VerbAccess access = VerbAccess::kChanges;
  VerbAnswer answer = VerbAnswer::kYaml;
  bool frequent = false;                // programs call it often, and it changes no configuration
  bool whole_only = false;              // cannot be abbreviated
  std::string_view operation = "show";  // in errors of lnetctl: add, del, show, set, manage, …
  std::string_view entity{};            // in errors of lnetctl: net, route, …
  Duration patience{};                  // if it may take longer than other verbs
};

// A change may wait for a start that waits for its gateways (twice router_ping_timeout), or for the
// rollback of another change, for which a NIC has to release an NI.
inline constexpr Duration kChangePatience = std::chrono::seconds(240);

// Rows by their words. A verb without a row does not compile.
class VerbRows {
 public:
  constexpr explicit VerbRows(std::span<const VerbRow> all) : all_(all) {}

  [[nodiscard]] consteval const VerbRow& operator[](std::string_view words) const {
    const auto row = std::ranges::find(all_, words, &VerbRow::words);
    PLNET_CHECK(row != all_.end(), "a verb has a row");
    return *row;
  }
  [[nodiscard]] constexpr auto begin() const { return all_.begin(); }
  [[nodiscard]] constexpr auto end() const { return all_.end(); }

 private:
  std::span<const VerbRow> all_;
};

// Makers of most rows and options, for files of tables.
namespace row_makers {

constexpr OptionRow text(std::string_view name, char short_name, std::string_view value,
                         std::string_view help) {
  return {name, short_name, OptionKind::kText, value, help};
}
constexpr OptionRow number(std::string_view name, char short_name, std::string_view value,
                           std::string_view help) {
  return {name, short_name, OptionKind::kNumber, value, help};
}
// May be given several times; the values are joined with commas.
constexpr OptionRow texts(std::string_view name, char short_name, std::string_view value,
                          std::string_view help) {
  return {name, short_name, OptionKind::kTexts, value, help};
}
constexpr OptionRow flag(std::string_view name, char short_name, std::string_view help) {
  return {name, short_name, OptionKind::kFlag, {}, help};
}
constexpr OptionRow level(std::string_view help = "more of it; without a number the same as 1") {
  return {"verbose", 'v', OptionKind::kLevel, "N", help};
}
constexpr OptionRow required(OptionRow option) {
  option.required = true;
  return option;
}
constexpr OptionRow local(OptionRow option) {
  option.local = true;
  return option;
}
// An argument of a request that is no option of lnetctl.
constexpr OptionRow arg(std::string_view name, OptionKind kind = OptionKind::kText) {
  return {.name = name, .kind = kind};
}

constexpr VerbRow show(std::string_view words, std::string_view entity, std::string_view help,
                       const OptionList& options = {}, const PositionalRow& positional = {}) {
  return {.words = words,
          .help = help,
          .options = options,
          .positional = positional,
          .access = VerbAccess::kReads,
          .entity = entity};
}
// For a verb that answers with text.
constexpr VerbRow as_text(VerbRow row) {
  row.answer = VerbAnswer::kText;
  return row;
}
// A setting of the node itself; lnetctl prints nothing on success.
constexpr VerbRow set(std::string_view words, std::string_view entity, std::string_view help,
                      const OptionList& options = {}, const PositionalRow& positional = {}) {
  return {.words = words,
          .help = help,
          .options = options,
          .positional = positional,
          .answer = VerbAnswer::kNothing,
          .operation = "set",
          .entity = entity};
}
// The same for LNet, which may take longer.
constexpr VerbRow change(std::string_view words, std::string_view operation,
                         std::string_view entity, std::string_view help,
                         const OptionList& options = {}) {
  VerbRow row = set(words, entity, help, options);
  row.operation = operation;
  row.patience = kChangePatience;
  return row;
}

}  // namespace row_makers
}  // namespace plnet::runtime
