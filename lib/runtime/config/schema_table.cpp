// SPDX-License-Identifier: BSD-3-Clause
// The rows, in the order of export and of the documentation.
#include <array>
#include <vector>

#include <fmt/format.h>

#include "lib/base/interface_name.hpp"
#include "lib/runtime/admin/metrics_http.hpp"
#include "lib/runtime/admin/page_server.hpp"
#include "lib/runtime/config/lnet_schema.hpp"
#include "lib/runtime/config/module_option_names.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/schema_binding.hpp"
#include "lib/runtime/config/settings_section.hpp"
#include "lib/runtime/cpt/cpt_pattern.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"

namespace plnet::runtime {
namespace {

constexpr auto kByWords =
    std::to_array<std::string_view>({"auto", "numa", "core", "partitions", "pattern", "list"});
constexpr auto kIdleWords =
    std::to_array<std::string_view>({"auto", "busy", "pause", "yield", "sleep"});
constexpr auto kLevelWords = std::to_array<std::string_view>({"error", "warning", "info", "debug"});

Outcome<void> check_pattern(std::string_view text) {
  auto parsed = parse_cpt_pattern(text);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  return {};
}

Outcome<void> check_listen(std::string_view text) {
  if (text.empty()) return {};
  auto parsed = parse_listen_address(text);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  return {};
}

Outcome<void> check_page_listen(std::string_view text) {
  if (text.empty()) return {};
  auto parsed = parse_page_address(text);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  return {};
}

Outcome<void> check_interface(std::string_view name) {
  if (is_interface_name(name)) return {};
  return failure(Errc::kInvalid, fmt::format("expected {}", kInterfaceNameExpected));
}

Outcome<void> accept_any_text(std::string_view text) {
  if (text.size() <= lnet::kNamesTextMax) return {};
  return failure(Errc::kTooBig,
                 fmt::format("{} letters, expected at most {}", text.size(), lnet::kNamesTextMax));
}

constexpr std::array kShardKeys{
    Key{.name = "cpu",
        .kind = KeyKind::kInteger,
        .help = "The operating system's number of the hardware thread; or give core.",
        .low = 0,
        .high = kMaxCpus - 1,
        .optional = true,
        .binding = PLNET_FIELD(ShardRequest, cpu),
        .origin = PLNET_ORIGIN(ShardRequest, origin)},
    Key{.name = "core",
        .kind = KeyKind::kInteger,
        .help = "The logical number of a core, counted over the machine, instead of cpu.",
        .low = 0,
        .high = kMaxCpus - 1,
        .optional = true,
        .binding = PLNET_FIELD(ShardRequest, core),
        .origin = PLNET_ORIGIN(ShardRequest, origin)},
    Key{.name = "smt",
        .kind = KeyKind::kInteger,
        .help = "Which hardware thread of that core; 0 if left out.",
        .low = 0,
        .high = 7,
        .optional = true,
        .binding = PLNET_FIELD(ShardRequest, smt)},
};

constexpr std::array kNicQueueKeys{
    Key{.name = "INTERFACE",
        .kind = KeyKind::kNumberList,
        .help = "Queues of this network interface that the CPT serves.",
        .high = kMaxNicQueue},
};

constexpr std::array kCptKeys{
    Key{.name = "shards",
        .kind = KeyKind::kRecords,
        .help = "The pollers of this CPT, each on a hardware thread.",
        .high = kMaxShards,
        .children = kShardKeys,
        .binding = PLNET_RECORDS(CptRequest, shards)},
    Key{.name = "memory node",
        .kind = KeyKind::kInteger,
        .help = "The NUMA node of its memory; the node of its first shard if left out.",
        .low = 0,
        .high = kMaxNodes - 1,
        .optional = true,
        .binding = PLNET_FIELD(CptRequest, memory_node),
        .origin = PLNET_ORIGIN(CptRequest, memory_origin)},
    Key{.name = "nic queues",
        .kind = KeyKind::kDictionary,
        .help = "Queues of network interfaces that this CPT serves.",
        .high = 64,  // interfaces; the largest machines have about 16
        .check = check_interface,
        .children = kNicQueueKeys,
        .binding = PLNET_FIELD(CptRequest, nic_queues)},
};

constexpr std::array kCptsKeys{
    Key{.name = "by",
        .kind = KeyKind::kWord,
        .help = "How the machine is divided into CPTs: auto (one for each NUMA node that has "
                "CPUs to use), numa, core, partitions, pattern or list.",
        .words = kByWords,
        .binding = PLNET_FIELD(Document, settings.cpts.by)},
    Key{.name = "partitions",
        .kind = KeyKind::kInteger,
        .help = "With `by: partitions` the number of CPTs (the kernel's cpu_npartitions); 0 lets "
                "the node choose.",
        .low = 0,
        .high = kMaxCpts,
        .binding = PLNET_FIELD(Document, settings.cpts.partitions)},
    Key{.name = "pattern",
        .kind = KeyKind::kText,
        .help = "With `by: pattern` the kernel's cpu_pattern, such as \"0[0-3] 1[4-7]\" or \"N\".",
        .check = check_pattern,
        .binding = PLNET_FIELD(Document, settings.cpts.pattern),
        .origin = PLNET_ORIGIN(Document, settings.cpts.pattern_origin)},
    Key{.name = "shards_per_cpt",
        .kind = KeyKind::kInteger,
        .help = "Pollers in each CPT; 0 = one on every CPU of it. Not used with `by: list`.",
        .low = 0,
        .high = kMaxShards,
        .binding = PLNET_FIELD(Document, settings.cpts.shards_per_cpt)},
    Key{.name = "reserved_cpus",
        .kind = KeyKind::kNumberList,
        .help = "CPUs that are left to the system and the admin thread, such as \"0,4-5\".",
        .high = kMaxCpus - 1,
        .binding = PLNET_FIELD(Document, settings.cpts.reserved_cpus),
        .origin = PLNET_ORIGIN(Document, settings.cpts.reserved_origin)},
    Key{.name = "list",
        .kind = KeyKind::kRecords,
        .help = "With `by: list` the CPTs one by one. An import replaces the list as a whole.",
        .high = kMaxCpts,
        .children = kCptKeys,
        .binding = PLNET_RECORDS(Document, settings.cpts.list)},
};

constexpr std::array kPollerKeys{
    Key{.name = "idle",
        .kind = KeyKind::kWord,
        .applies = Applies::kLive,
        .help = "Policy of a poller without work: busy (never leaves the CPU), pause, yield, sleep "
                "(waits in the kernel after a while), or auto (chosen by CPUs and pollers).",
        .words = kIdleWords,
        .binding = PLNET_FIELD(Document, settings.pollers.idle)},
    Key{.name = "turn_limit_usec",
        .kind = KeyKind::kInteger,
        .applies = Applies::kLive,
        .help = "Turns of a poller that take longer are counted; 0 = none is.",
        .low = 0,
        .high = 1'000'000,
        .unit = "microseconds",
        .binding = PLNET_FIELD(Document, settings.pollers.turn_limit_usec)},
};

constexpr std::array kMemoryKeys{
    Key{.name = "arena_mib",
        .kind = KeyKind::kInteger,
        .help = "Memory for messages on each NUMA node that has shards.",
        .low = 1,
        .high = std::int64_t{1} << 20U,  // a terabyte on one node
        .unit = "MiB",
        .binding = PLNET_FIELD(Document, settings.memory.arena_mib)},
};

constexpr std::array kExchangeKeys{
    Key{.name = "enable",
        .kind = KeyKind::kBoolean,
        .applies = Applies::kLive,
        .help = "1 = shards pass tokens to one another.",
        .binding = PLNET_FIELD(Document, settings.exchange.enable)},
    Key{.name = "in_flight",
        .kind = KeyKind::kInteger,
        .applies = Applies::kLive,
        .help = "Tokens for each ordered pair of shards.",
        .low = 1,
        .high = 4096,  // as many as a shard has
        .binding = PLNET_FIELD(Document, settings.exchange.in_flight)},
    Key{.name = "work_nsec",
        .kind = KeyKind::kInteger,
        .applies = Applies::kLive,
        .help = "Pretended work for each token.",
        .low = 0,
        .high = 1'000'000,  // longer turns would delay all other work
        .unit = "nanoseconds",
        .binding = PLNET_FIELD(Document, settings.exchange.work_nsec)},
};

constexpr std::array kLnetStartKeys{
    Key{.name = "peers",
        .kind = KeyKind::kInteger,
        .help =
            "Remote nodes that are known at a time; idle ones without a connection make room for "
            "others. Two interfaces each on average; at most half of them may have more than two, "
            "an eighth more than eight. The NIDs for which there is no room are left out "
            "(`nids_no_room`). At least 128; 0 = 4096, on a router one in 320 KiB of free memory, "
            "4096 to 20480.",
        .low = 0,
        .high = 1'000'000,
        .binding = PLNET_FIELD(Document, settings.lnet_limits.peers)},
    Key{.name = "new_peers_per_sec",
        .kind = KeyKind::kInteger,
        .help = "Unknown nodes that become peers in a second because they connect; the others wait "
                "for their turn, and nothing is read from their connections meanwhile. Of those "
                "that one neighbour's messages name a quarter. 0 = half of `peers`, at least 1000.",
        .low = 0,
        .high = 1'000'000,
        .binding = PLNET_FIELD(Document, settings.lnet_limits.new_peers_per_sec)},
    Key{.name = "peers_of_one",
        .kind = KeyKind::kInteger,
        .help = "Peers that are known only since messages of one neighbour name them, as a "
                "destination or a source; a gateway may have three quarters of `peers`. 0 = a "
                "quarter of them.",
        .low = 0,
        .high = 1'000'000,
        .binding = PLNET_FIELD(Document, settings.lnet_limits.peers_of_one)},
    Key{.name = "messages",
        .kind = KeyKind::kInteger,
        .help = "Messages that a shard sends at a time; 0 = by the numbers of shards and buffers.",
        .low = 0,
        .high = 65536,
        .binding = PLNET_FIELD(Document, settings.lnet_limits.messages)},
    Key{.name = "receives",
        .kind = KeyKind::kInteger,
        .help =
            "Messages that a shard receives at a time; 0 = by the numbers of shards and buffers.",
        .low = 0,
        .high = 65536,
        .binding = PLNET_FIELD(Document, settings.lnet_limits.receives)},
    Key{.name = "descriptors",
        .kind = KeyKind::kInteger,
        .help = "Memory descriptors of a shard, and as many match entries; 0 = twice the messages.",
        .low = 0,
        .high = 131072,
        .binding = PLNET_FIELD(Document, settings.lnet_limits.descriptors)},
    Key{.name = "placement",
        .kind = KeyKind::kWord,
        .help = "How a peer is given to a CPT: by the hash of its NID as a release of Lustre does "
                "it, or to the CPT that has the fewest (balanced).",
        .words = lnet::kPlacementRuleNames,
        .binding = PLNET_FIELD(Document, settings.lnet_placement)},
};

constexpr std::array kSelftestKeys{
    Key{.name = "enable",
        .kind = KeyKind::kBoolean,
        .help = "1 = the node is a test node of LNet selftest, and a console for `lst`.",
        .binding = PLNET_FIELD(Document, settings.selftest.enable)},
    Key{.name = "session_timeout_sec",
        .kind = KeyKind::kInteger,
        .help = "A session ends when its console is silent for this time; 0 = never.",
        .low = 0,
        .high = kSelftestTimeoutSecMax,
        .unit = "seconds",
        .binding = PLNET_FIELD(Document, settings.selftest.session_timeout_sec)},
    Key{.name = "rpc_timeout_sec",
        .kind = KeyKind::kInteger,
        .help =
            "A request of a test that runs here fails without a reply for this time; 0 = never.",
        .low = 0,
        .high = kSelftestTimeoutSecMax,
        .unit = "seconds",
        .binding = PLNET_FIELD(Document, settings.selftest.rpc_timeout_sec)},
    Key{.name = "client_mib",
        .kind = KeyKind::kInteger,
        .help = "Data that all tests with this node as a client may read at a time.",
        .low = 1,
        .high = 1024,
        .unit = "MiB",
        .binding = PLNET_FIELD(Document, settings.selftest.client_mib)},
    Key{.name = "client_requests",
        .kind = KeyKind::kInteger,
        .help = "Requests under way of all tests with this node as a client.",
        .low = 1,
        .high = 16'384,  // three descriptors each, of a shard's 131072
        .binding = PLNET_FIELD(Document, settings.selftest.client_requests)},
    Key{.name = "server_mib",
        .kind = KeyKind::kInteger,
        .help = "Data that clients may write to a shard at a time; others wait.",
        .low = 1,
        .high = 256,  // as many RPCs as a server has
        .unit = "MiB",
        .binding = PLNET_FIELD(Document, settings.selftest.server_mib)},
};

constexpr std::array kLogKeys{
    Key{.name = "level",
        .kind = KeyKind::kWord,
        .applies = Applies::kLive,
        .help = "The least important lines that are written.",
        .words = kLevelWords,
        .binding = PLNET_FIELD(Document, settings.log.level)},
};

constexpr std::array kMetricsKeys{
    Key{.name = "listen",
        .kind = KeyKind::kText,
        .applies = Applies::kLive,
        .help = "ADDRESS:PORT at which Prometheus may fetch /metrics; \"\" = off.",
        .check = check_listen,
        .binding = PLNET_FIELD(Document, settings.metrics.listen)},
};

constexpr std::array kStatusPageKeys{
    Key{.name = "listen",
        .kind = KeyKind::kText,
        .applies = Applies::kLive,
        .help = "ADDRESS:PORT, or a port of 127.0.0.1, at which a browser finds the status page; "
                "\"\" = off. Anybody who reaches the address may read it.",
        .check = check_page_listen,
        .binding = PLNET_FIELD(Document, settings.status_page.listen)},
};

constexpr std::array kModuleOptionKeys{
    Key{.name = "OPTION",
        .kind = KeyKind::kText,
        .help = "The value of this option.",
        .check = accept_any_text},
};

constexpr std::array kPlnetKeys{
    Key{.name = "cpts",
        .help = "CPU partitions, their shards (pollers) and memory.",
        .children = kCptsKeys},
    Key{.name = "pollers", .help = "How pollers spend their time.", .children = kPollerKeys},
    Key{.name = "memory", .help = "Memory taken at start.", .children = kMemoryKeys},
    Key{.name = "exchange",
        .help = "Shards pass tokens to one another, to measure the cost of a hop between cores.",
        .children = kExchangeKeys},
    Key{.name = "lnet",
        .help = "Sizes of LNet at start, and the placement of peers.",
        .children = kLnetStartKeys},
    Key{.name = "selftest",
        .help = "LNet selftest, taken at start. `lnet-selftest node` always has it.",
        .children = kSelftestKeys},
    Key{.name = "log", .help = "The log.", .children = kLogKeys},
    Key{.name = "metrics", .help = "Counters for Prometheus over HTTP.", .children = kMetricsKeys},
    Key{.name = "status_page",
        .help = "The state of the node as a page that renews itself.",
        .children = kStatusPageKeys},
    Key{.name = "module_options",
        .kind = KeyKind::kDictionary,
        .help = "Options of the kernel's modules (socklnd, o2iblnd, the acceptor, …) that have no "
                "key of their own, as `lnet-router --options` reads them.",
        .high = 256,  // there are about 100
        .optional = true,
        .check = check_module_option,
        .children = kModuleOptionKeys,
        .example = "ksocklnd.nagle: 0",
        .by_name = true,
        .binding = PLNET_FIELD(Document, settings.lnet.module_options)},
};

// The sections of network families follow this one.
constexpr std::string_view kSectionBefore = "lnet";

}  // namespace

Schema::Schema(std::span<const SettingsSection* const> sections) : sections_(sections) {
  for (const Key& key : kPlnetKeys) {
    plnet_keys_.push_back(key);
    if (key.name != kSectionBefore) continue;
    for (const SettingsSection* section : sections)
      plnet_keys_.push_back(
          {.name = section->name, .help = section->help, .children = section->keys});
  }
  const auto lnet = lnet_keys();
  keys_.assign(lnet.begin(), lnet.end());
  keys_.push_back({.name = "plnet", .help = "Settings of plnet alone.", .children = plnet_keys_});
}

}  // namespace plnet::runtime
