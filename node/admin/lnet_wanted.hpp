// SPDX-License-Identifier: BSD-3-Clause
// The judgement of a wanted configuration: its meaning on this machine, and whether a node can have
// it. Everything here is decided before anything changes.
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

// Whether both have the same NID, family and values in force, on the same CPTs. `cpts`: of the
// node.
[[nodiscard]] bool come_to_same(const ResolvedNi& a, const ResolvedNi& b, std::size_t cpts);

// The facts that a configuration is judged by.
struct Ground {
  std::size_t cpts = 0;
  Families families{};
  const OpenFamilies* open = nullptr;  // null before the start: then `settings` count
  const runtime::Settings* settings = nullptr;
};

struct Judged {
  lnet::NodeConfig config;         // settled on the machine
  std::vector<std::string> notes;  // differences from the text as it was written
};

// The reason of a refusal, and the part of the configuration at fault as far as it is known.
struct Misfit {
  Error error;
  std::string key{};                     // "route"
  std::string option{};                  // of a module: "ksocklnd.credits"
  std::optional<lnet::NetConfig> net{};  // with one NI
};

// The error, prefixed by the place of the part at fault if `text` has it. `options`: the text is a
// file of modprobe.d.
[[nodiscard]] Error located(const Misfit& misfit, const runtime::SourceText& text, bool options);

// Changes nothing, but may look at the machine. An NI that resolves to the same as one of `now` is
// replaced by that one: exports have the values in force where a configuration may leave them out,
// and an import of an export must not take the NI down. So the configuration stays as it was
// written, and unset values follow their defaults.
[[nodiscard]] std::expected<Judged, Misfit> judge(lnet::NodeConfig wanted,
                                                  const lnet::NodeConfig& now,
                                                  const Ground& ground);

}  // namespace plnet::node
