// SPDX-License-Identifier: BSD-3-Clause
// Reads the text of a document to Settings. Everything is read and checked before anything is
// returned, and all errors are reported: no document is applied by half.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lnet/names/nid.hpp"
#include "lib/runtime/config/config_error.hpp"
#include "lib/runtime/config/exec_request.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::runtime {

class Schema;

using ParseResult = std::expected<Settings, ConfigErrors>;

// Keys that the document leaves out keep the value of `base`: at start the default, with lnetctl
// import --add the value in force. A list below `plnet` replaces the former list. Items of LNet's
// lists (net, route, peer, …) are added to the present ones; an item with the same identity is
// replaced. `file_name` is for messages only. The errors hold copies of the text.
[[nodiscard]] ParseResult read_settings(const Schema& schema, std::string_view text,
                                        std::string_view file_name, const Settings& base = {});

// lnetctl import --del: keys of the document get their defaults, whatever their values. A section
// without keys is reset as a whole. Items of LNet's lists are removed; an item that is not there is
// an error.
[[nodiscard]] ParseResult reset_settings(const Schema& schema, std::string_view text,
                                         std::string_view file_name, const Settings& base);

// lnetctl import --show and --exec: the objects that a document names, without its changes.
struct NamedItems {
  std::vector<std::string> sections;  // the keys at its top
  std::vector<lnet::NetId> nets;
  std::vector<lnet::NetId> routes;
  std::vector<lnet::Nid> peers;
  std::vector<ExecRequest> pings;
  std::vector<ExecRequest> discovers;
};
[[nodiscard]] std::expected<NamedItems, ConfigErrors> read_named(const Schema& schema,
                                                                 std::string_view text,
                                                                 std::string_view file_name);

}  // namespace plnet::runtime
