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

#include "apps/assembly/lnet_networks.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/document_places.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::apps {

// Rules about addresses become networks, and interfaces NIDs, as this machine has them now. What
// `now` has already stays. What came out otherwise than it was written goes to `notes`.
[[nodiscard]] Outcome<void> settle_on_machine(lnet::NodeConfig& wanted, const lnet::NodeConfig& now,
                                              std::vector<std::string>* notes = nullptr);
// Whether it routes because it is a gateway of its own module option `routes`; its NIDs are known.
void settle_forwarding(lnet::NodeConfig& wanted);
// Whether a node that is started with this will, as far as the machine tells now.
[[nodiscard]] bool will_route(lnet::NodeConfig config);

[[nodiscard]] bool has_ni(const lnet::NodeConfig& config, lnet::NetId net,
                          const lnet::NiConfig& ni);

// Of one NID and driver, with the same in force, on the same CPTs; a node has so many of these.
[[nodiscard]] bool come_to_same(const ResolvedNi& a, const ResolvedNi& b, std::size_t cpts);

class ConnectionsByLink;

// What a node goes by.
struct Ground {
  std::size_t cpts = 0;
  const KfiHost* kfi = nullptr;  // null: its NICs are not open, and these are to be
  std::span<const runtime::KfiInterface> kfi_interfaces{};
  const ConnectionsByLink* by_link = nullptr;  // null: it has no NIs yet
};

struct Judged {
  lnet::NodeConfig config;         // settled on the machine
  TcpOptions tcp;                  // of it
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

}  // namespace plnet::apps
