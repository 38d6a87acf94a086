// SPDX-License-Identifier: BSD-3-Clause
// What a wanted configuration comes to on this machine, and whether a node can have it: all that is
// decided before anything changes.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/document_places.hpp"
#include "lib/runtime/config/settings.hpp"
#include "node/host/ni_resolver.hpp"

namespace plnet::node {

[[nodiscard]] bool has_ni(const lnet::NodeConfig& config, lnet::NetId net,
                          const lnet::NiConfig& ni);

// Of one NID and family, with the same in force, on the same CPTs; a node has so many of these.
[[nodiscard]] bool come_to_same(const ResolvedNi& a, const ResolvedNi& b, std::size_t cpts);

// What a node goes by.
struct Ground {
  std::size_t cpts = 0;
  Families families{};
  const OpenFamilies* open = nullptr;  // null: before the start; `settings` say what will be opened
  const runtime::Settings* settings = nullptr;
};

struct Judged {
  lnet::NodeConfig config;         // settled on the machine
  std::vector<std::string> notes;  // what came out otherwise than it was written
};

// Why a configuration cannot be had, and what of it is to blame, if that is known.
struct Misfit {
  Error error;
  std::string key{};                     // "route"
  std::string option{};                  // of a module: "ksocklnd.credits"
  std::optional<lnet::NetConfig> net{};  // with the one NI
};

// Its error, behind the place in the text that is to blame if that has it. `options`: the text is a
// file of modprobe.d.
[[nodiscard]] Error located(const Misfit& misfit, const runtime::SourceText& text, bool options);

// Takes nothing and changes nothing, but may look at the machine. An NI that comes to the same as
// one of `now` becomes that one: exports say what is in force where a configuration may have said
// nothing, and an import of it must not take the NI down. So the configuration stays as it was
// written, too, and what nobody has set goes on following its default.
[[nodiscard]] std::expected<Judged, Misfit> judge(lnet::NodeConfig wanted,
                                                  const lnet::NodeConfig& now,
                                                  const Ground& ground);

}  // namespace plnet::node
