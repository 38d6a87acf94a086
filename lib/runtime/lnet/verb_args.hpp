// SPDX-License-Identifier: BSD-3-Clause
// Arguments of LNet's verbs (lnetctl's options) as values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/base/result.hpp"
#include "lib/lnet/node/lnet_control.hpp"

namespace plnet::runtime {

struct Key;

using VerbArgs = nlohmann::json;

// "" if not given.
[[nodiscard]] std::string text_arg(const VerbArgs& args, const char* name);
[[nodiscard]] bool flag_arg(const VerbArgs& args, const char* name);
// nullopt if not given; an error if it is out of range.
[[nodiscard]] Outcome<std::optional<std::int64_t>> number_arg(const VerbArgs& args,
                                                              const char* name, std::int64_t low,
                                                              std::int64_t high);
[[nodiscard]] Outcome<std::optional<lnet::Nid>> nid_arg(const VerbArgs& args, const char* name);
// kNetAny if not given.
[[nodiscard]] Outcome<lnet::NetId> net_arg(const VerbArgs& args, const char* name);
// A list of NIDs and ranges, or several such lists; at most kNidsPerOperationMax. Empty if not
// given.
[[nodiscard]] Outcome<std::vector<lnet::Nid>> nids_arg(const VerbArgs& args, const char* name);

// Sets the texts of a record from the arguments, each by the name of its row.
[[nodiscard]] Outcome<void> take_texts(const VerbArgs& args, std::span<const Key> keys,
                                       void* record);

// The argument `verbose`, limited to the existing levels.
[[nodiscard]] int level_arg(const VerbArgs& args);

[[nodiscard]] Outcome<lnet::ConnectionQuery> connection_query(const VerbArgs& args);
[[nodiscard]] Outcome<lnet::NetConfig> net_to_add(const VerbArgs& args);
[[nodiscard]] Outcome<lnet::NetSelection> net_to_delete(const VerbArgs& args);
[[nodiscard]] Outcome<lnet::NiChange> ni_change(const VerbArgs& args);
[[nodiscard]] Outcome<lnet::PeerConfig> peer_to_add(const VerbArgs& args);
[[nodiscard]] Outcome<lnet::PeerSelection> peer_to_delete(const VerbArgs& args);
[[nodiscard]] Outcome<lnet::PeerNiChange> peer_ni_change(const VerbArgs& args);
[[nodiscard]] Outcome<std::vector<lnet::RouteConfig>> routes_of(const VerbArgs& args);

}  // namespace plnet::runtime
