// SPDX-License-Identifier: BSD-3-Clause
// Text of a document to Settings. Everything is read and checked before anything is returned, and
// everything that is wrong is reported: there is no half-applied document.
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

// What is not named keeps the value of `base`: at start the default, with lnetctl import --add the
// value in force. A list below `plnet` that is named replaces the list that was there. Items of
// LNet's lists (net, route, peer, …) are added to those that are there, and replace those that are
// the same thing with other values.
// `file_name` is for the messages only. The text must outlive the result's errors only until the
// call returns: they hold copies.
[[nodiscard]] ParseResult read_settings(const Schema& schema, std::string_view text,
                                        std::string_view file_name, const Settings& base = {});

// lnetctl import --del: what is named goes back to its default, whatever value stands there. A
// section without anything below it goes back as a whole. Items of LNet's lists go; one that is not
// there is an error.
[[nodiscard]] ParseResult reset_settings(const Schema& schema, std::string_view text,
                                         std::string_view file_name, const Settings& base);

// lnetctl import --show and --exec: what a document names, without what it would change.
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
