// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/settings.hpp"

#include <array>

#include "lib/runtime/config/schema_binding.hpp"
#include "lib/runtime/config/settings_section.hpp"

namespace plnet::node {
namespace {

using runtime::Key;
using runtime::KeyKind;

constexpr std::array kO2ibKeys{
    Key{.name = "connections",
        .kind = KeyKind::kInteger,
        .help = "Queue pairs that an NI can have on each shard. Each has 2 * peer_credits + 2 "
                "buffers of 4 KiB, which take memory when they are first used.",
        .low = 16,
        .high = 65536,
        .binding = PLNET_SECTION_FIELD(O2ibSettings, connections)},
    Key{.name = "nis",
        .kind = KeyKind::kInteger,
        .help = "How many NIs there is room for; 0 = those that are configured at start, at least "
                "2.",
        .low = 0,
        .high = kO2ibNisMax,
        .binding = PLNET_SECTION_FIELD(O2ibSettings, nis)},
};

}  // namespace

constinit const runtime::SettingsSection kO2ibSection{
    .name = O2ibSettings::kSection, .help = "Queue pairs of o2ib networks.", .keys = kO2ibKeys};

}  // namespace plnet::node
