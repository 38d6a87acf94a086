// SPDX-License-Identifier: BSD-3-Clause
// The rows. Order is the order of export and of the documentation.
#include <algorithm>
#include <array>
#include <concepts>
#include <type_traits>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/runtime/admin/metrics_http.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings.hpp"
#include "lib/runtime/cpt/cpt_pattern.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"
#include "lib/runtime/cpt/number_list.hpp"
#include "lib/runtime/cpt/topology.hpp"

namespace plnet::runtime {
namespace {

constexpr auto kByWords =
    std::to_array<std::string_view>({"auto", "numa", "core", "partitions", "pattern", "list"});
constexpr auto kIdleWords =
    std::to_array<std::string_view>({"auto", "busy", "pause", "yield", "sleep"});
constexpr auto kLevelWords = std::to_array<std::string_view>({"error", "warning", "info", "debug"});

// How the types of settings.hpp become values and come back.
template <std::integral T>
Value to_value(T number) {
  return static_cast<std::int64_t>(number);
}
template <class E>
  requires std::is_enum_v<E>
Value to_value(E word) {
  return std::string(name_of(word));
}
Value to_value(const std::string& text) {
  return text;
}
Value to_value(const std::vector<unsigned>& numbers) {
  return format_number_list(numbers);
}
Value to_value(const std::vector<NicQueues>& interfaces) {
  Value object = Value::object();
  for (const NicQueues& entry : interfaces)
    object[entry.interface] = format_number_list(entry.queues);
  return object;
}

template <std::integral T>
void from_value(const Value& value, T& number) {
  number = static_cast<T>(value.get<std::int64_t>());
}
template <class E>
  requires std::is_enum_v<E>
void from_value(const Value& value, E& word) {
  constexpr unsigned kWordsMax = 16;  // no enumeration here has more
  const auto& wanted = value.get_ref<const std::string&>();
  for (unsigned i = 0; i < kWordsMax; ++i) {
    if (name_of(static_cast<E>(i)) != wanted) continue;
    word = static_cast<E>(i);
    return;
  }
  PLNET_CHECK(false, "the words of the row are the names of the enumeration");
}
void from_value(const Value& value, std::string& text) {
  text = value.get_ref<const std::string&>();
}
void from_value(const Value& value, std::vector<unsigned>& numbers) {
  auto parsed = parse_number_list(value.get_ref<const std::string&>(), kMaxCpus);
  PLNET_CHECK(parsed.has_value(), "lists are checked before they are set");
  numbers = std::move(*parsed);
}
void from_value(const Value& value, std::vector<NicQueues>& interfaces) {
  interfaces.clear();
  for (const auto& [name, queues] : value.items()) {
    NicQueues& entry = interfaces.emplace_back();
    entry.interface = name;
    from_value(queues, entry.queues);
  }
}

// `kField` takes a record (const or not) and returns a reference to the member.
template <class Record, auto kField>
consteval Binding field() {
  return {
      .get =
          [](const void* record) { return to_value(kField(*static_cast<const Record*>(record))); },
      .set = [](void* record,
                const Value& value) { from_value(value, kField(*static_cast<Record*>(record))); },
  };
}

template <class Record, auto kField>
consteval Binding records() {
  return {
      .size = [](const void* record) { return kField(*static_cast<const Record*>(record)).size(); },
      .item = [](const void* record, std::size_t index) -> const void* {
        return &kField(*static_cast<const Record*>(record))[index];
      },
      .append = [](void* record) -> void* {
        return &kField(*static_cast<Record*>(record)).emplace_back();
      },
      .clear = [](void* record) { kField(*static_cast<Record*>(record)).clear(); },
  };
}

#define PLNET_FIELD(Record, member) \
  field<Record, [](auto& record) -> auto& { return record.member; }>()
#define PLNET_RECORDS(Record, member) \
  records<Record, [](auto& record) -> auto& { return record.member; }>()

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

Outcome<void> check_interface(std::string_view name) {
  const bool fits = !name.empty() && name.size() <= kMaxInterfaceName;
  if (fits && name.find_first_of(" \t/:") == std::string_view::npos) return {};
  return failure(Errc::kInvalid, fmt::format("expected the name of a network interface: 1 to {} "
                                             "characters, no blank, '/' or ':'",
                                             kMaxInterfaceName));
}

constexpr std::array kShardKeys{
    Key{.name = "cpu",
        .kind = KeyKind::kInteger,
        .help = "The operating system's number of the hardware thread; or give core.",
        .low = 0,
        .high = kMaxCpus - 1,
        .optional = true,
        .binding = PLNET_FIELD(ShardRequest, cpu)},
    Key{.name = "core",
        .kind = KeyKind::kInteger,
        .help = "The logical number of a core, counted over the machine, instead of cpu.",
        .low = 0,
        .high = kMaxCpus - 1,
        .optional = true,
        .binding = PLNET_FIELD(ShardRequest, core)},
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
        .binding = PLNET_FIELD(CptRequest, memory_node)},
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
        .binding = PLNET_FIELD(Settings, cpts.by)},
    Key{.name = "partitions",
        .kind = KeyKind::kInteger,
        .help = "With `by: partitions` the number of CPTs (the kernel's cpu_npartitions); 0 lets "
                "the node choose.",
        .low = 0,
        .high = kMaxCpts,
        .binding = PLNET_FIELD(Settings, cpts.partitions)},
    Key{.name = "pattern",
        .kind = KeyKind::kText,
        .help = "With `by: pattern` the kernel's cpu_pattern, such as \"0[0-3] 1[4-7]\" or \"N\".",
        .check = check_pattern,
        .binding = PLNET_FIELD(Settings, cpts.pattern)},
    Key{.name = "shards_per_cpt",
        .kind = KeyKind::kInteger,
        .help = "Pollers in each CPT; 0 = one on every CPU of it. Not used with `by: list`.",
        .low = 0,
        .high = kMaxShards,
        .binding = PLNET_FIELD(Settings, cpts.shards_per_cpt)},
    Key{.name = "reserved_cpus",
        .kind = KeyKind::kNumberList,
        .help = "CPUs that are left to the system and the admin thread, such as \"0,4-5\".",
        .high = kMaxCpus - 1,
        .binding = PLNET_FIELD(Settings, cpts.reserved_cpus)},
    Key{.name = "list",
        .kind = KeyKind::kRecords,
        .help = "With `by: list` the CPTs one by one. An import replaces the list as a whole.",
        .high = kMaxCpts,
        .children = kCptKeys,
        .binding = PLNET_RECORDS(Settings, cpts.list)},
};

constexpr std::array kPollerKeys{
    Key{.name = "idle",
        .kind = KeyKind::kWord,
        .applies = Applies::kLive,
        .help = "What a poller does without work: busy (never leaves the CPU), pause, yield, sleep "
                "(waits in the kernel after a while), or auto (chosen by CPUs and pollers).",
        .words = kIdleWords,
        .binding = PLNET_FIELD(Settings, pollers.idle)},
    Key{.name = "turn_limit_usec",
        .kind = KeyKind::kInteger,
        .applies = Applies::kLive,
        .help = "Turns of a poller that take longer are counted; 0 = none is.",
        .low = 0,
        .high = 1'000'000,
        .unit = "microseconds",
        .binding = PLNET_FIELD(Settings, pollers.turn_limit_usec)},
};

constexpr std::array kMemoryKeys{
    Key{.name = "arena_mib",
        .kind = KeyKind::kInteger,
        .help = "Memory for messages on each NUMA node that has shards.",
        .low = 1,
        .high = std::int64_t{1} << 20U,  // a terabyte on one node
        .unit = "MiB",
        .binding = PLNET_FIELD(Settings, memory.arena_mib)},
};

constexpr std::array kExchangeKeys{
    Key{.name = "enable",
        .kind = KeyKind::kBoolean,
        .applies = Applies::kLive,
        .help = "1 = shards pass tokens to one another.",
        .binding = PLNET_FIELD(Settings, exchange.enable)},
    Key{.name = "in_flight",
        .kind = KeyKind::kInteger,
        .applies = Applies::kLive,
        .help = "Tokens for each ordered pair of shards.",
        .low = 1,
        .high = 4096,  // as many as a shard has
        .binding = PLNET_FIELD(Settings, exchange.in_flight)},
    Key{.name = "work_nsec",
        .kind = KeyKind::kInteger,
        .applies = Applies::kLive,
        .help = "Pretended work for each token.",
        .low = 0,
        .high = 1'000'000,  // longer turns would starve everything else
        .unit = "nanoseconds",
        .binding = PLNET_FIELD(Settings, exchange.work_nsec)},
};

constexpr std::array kLogKeys{
    Key{.name = "level",
        .kind = KeyKind::kWord,
        .applies = Applies::kLive,
        .help = "The least important lines that are written.",
        .words = kLevelWords,
        .binding = PLNET_FIELD(Settings, log.level)},
};

constexpr std::array kMetricsKeys{
    Key{.name = "listen",
        .kind = KeyKind::kText,
        .applies = Applies::kLive,
        .help = "ADDRESS:PORT at which Prometheus may fetch /metrics; \"\" = off.",
        .check = check_listen,
        .binding = PLNET_FIELD(Settings, metrics.listen)},
};

constexpr std::array kPlnetKeys{
    Key{.name = "cpts",
        .help = "CPU partitions, their shards (pollers) and memory.",
        .children = kCptsKeys},
    Key{.name = "pollers", .help = "How pollers spend their time.", .children = kPollerKeys},
    Key{.name = "memory", .help = "Memory taken at start.", .children = kMemoryKeys},
    Key{.name = "exchange",
        .help = "Shards pass tokens to one another: shows what a hop between cores costs.",
        .children = kExchangeKeys},
    Key{.name = "log", .help = "The log.", .children = kLogKeys},
    Key{.name = "metrics", .help = "Counters for Prometheus over HTTP.", .children = kMetricsKeys},
};

constexpr std::array kTopKeys{
    Key{.name = "plnet", .help = "What only plnet has.", .children = kPlnetKeys},
};

#undef PLNET_FIELD
#undef PLNET_RECORDS

// lustre-release lnet/utils/lnetconfig/liblnetconfig.c: the *_show functions write them, the
// yaml_config_* ones do not look at them.
constexpr std::array kIgnoredKeys{
    IgnoredKey{"", "statistics"},
    IgnoredKey{"net[]", "seq_no"},
    IgnoredKey{"net[].local NI(s)[]", "nid"},
    IgnoredKey{"net[].local NI(s)[]", "status"},
    IgnoredKey{"net[].local NI(s)[]", "statistics"},
    IgnoredKey{"net[].local NI(s)[]", "udsp info"},
    IgnoredKey{"net[].local NI(s)[]", "sent_stats"},
    IgnoredKey{"net[].local NI(s)[]", "received_stats"},
    IgnoredKey{"net[].local NI(s)[]", "dropped_stats"},
    IgnoredKey{"net[].local NI(s)[]", "health stats"},
    IgnoredKey{"net[].local NI(s)[]", "dev cpt"},
    IgnoredKey{"route[]", "seq_no"},
    IgnoredKey{"route[]", "state"},
    IgnoredKey{"route[]", "type"},
    IgnoredKey{"route[]", "health_sensitivity"},
    IgnoredKey{"peer[]", "seq_no"},
    IgnoredKey{"peer[]", "peer state"},
    IgnoredKey{"peer[].peer ni[]", "udsp info"},
    IgnoredKey{"peer[].peer ni[]", "state"},
    IgnoredKey{"peer[].peer ni[]", "max_ni_tx_credits"},
    IgnoredKey{"peer[].peer ni[]", "available_tx_credits"},
    IgnoredKey{"peer[].peer ni[]", "min_tx_credits"},
    IgnoredKey{"peer[].peer ni[]", "tx_q_num_of_buf"},
    IgnoredKey{"peer[].peer ni[]", "available_rtr_credits"},
    IgnoredKey{"peer[].peer ni[]", "min_rtr_credits"},
    IgnoredKey{"peer[].peer ni[]", "refcount"},
    IgnoredKey{"peer[].peer ni[]", "statistics"},
    IgnoredKey{"peer[].peer ni[]", "sent_stats"},
    IgnoredKey{"peer[].peer ni[]", "received_stats"},
    IgnoredKey{"peer[].peer ni[]", "dropped_stats"},
    IgnoredKey{"peer[].peer ni[]", "health stats"},
    IgnoredKey{"global", "lnd_timeout"},
    IgnoredKey{"global", "seq_no"},
    IgnoredKey{"routing", "seq_no"},
    IgnoredKey{"buffers", "seq_no"},
    IgnoredKey{"udsp[]", "seq_no"},
};

}  // namespace

std::span<const Key> schema() {
  return kTopKeys;
}

std::span<const IgnoredKey> ignored_keys() {
  return kIgnoredKeys;
}

}  // namespace plnet::runtime
