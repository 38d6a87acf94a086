// SPDX-License-Identifier: BSD-3-Clause
// The parts of one o2ib LND share its configuration, its core, its driver, its counters and the
// time of the last flush.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/names/nid64.hpp"
#include "lib/o2iblnd/complaints.hpp"
#include "lib/o2iblnd/lane.hpp"
#include "lib/o2iblnd/lnd_counters.hpp"
#include "lib/o2iblnd/negotiation.hpp"
#include "lib/o2iblnd/payload_copier.hpp"
#include "lib/o2iblnd/peer_gate.hpp"
#include "lib/o2iblnd/queue_pair.hpp"
#include "lib/o2iblnd/tunables.hpp"

namespace plnet::o2iblnd {

struct O2ibLndConfig {
  lnet::Nid nid;  // its address is the interface's IPv4 address
  // Identifies this life of the interface: microseconds since 1970 in the kernel; never 0.
  std::uint64_t incarnation = 1;
  const ArenaTable* arenas = nullptr;
  BufferAddress message_memory;  // message_memory_bytes() of it
  Tunables tunables;
  Duration lnet_lnd_timeout = std::chrono::seconds(50);  // if timeout is 0
  std::size_t peers_max = 256;
  std::size_t connections_max = 256;
  unsigned peer_connections_max = 32;  // that one peer may make; sites have 4 at most
  std::size_t receives_max = 1024;     // messages that were offered and are not over
  std::size_t replies_max = 512;       // answers and NOOPs under way, beside ntx own messages
  RaceOrder race_order = RaceOrder::kHash;
  CharSign char_sign = CharSign::kSigned;  // of the checksums that we send
  bool always_bulk = false;         // payloads lie in memory that the CPU does not reach (a GPU's)
  PayloadCopier* copier = nullptr;  // null: the CPU. Outlives the LND
  bool listens = true;              // else connection requests come from another listener
  LaneEnd* lanes = nullptr;         // null: all connections lie on this shard. Outlives the LND
  PeerGate* gate = nullptr;  // null: every peer may connect. Outlives the LND, as the next one
  Complaints* complaints = nullptr;
  Instant start{};
};

// Buffers of 4 KiB for all messages that may be posted or received.
[[nodiscard]] std::uint64_t message_memory_bytes(const O2ibLndConfig& config);

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the counters lie apart
struct Environment {
  using Id = O2ibCounters::Id;

  Environment(const O2ibLndConfig& the_config, lnet::LndUpcalls& the_core, VerbsDriver& the_driver)
      : config(the_config),
        tunables(the_config.tunables),
        timeout(lnd_timeout(tunables, the_config.lnet_lnd_timeout)),
        self{.nid = lnet::to_nid64(the_config.nid).value, .incarnation = the_config.incarnation},
        core(the_core),
        driver(the_driver),
        now(the_config.start) {}
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  void count(Id id, std::uint64_t amount = 1) { counters.add(id, amount); }
  // Counts it, and reports it once per NID.
  void complain(Id why, const lnet::Nid& nid, std::uint32_t address = 0) {
    counters.add(why);
    if (config.complaints == nullptr) return;
    config.complaints->tell({.nid = nid,
                             .address = address,
                             .cause = O2ibCounters::kInfo[static_cast<std::size_t>(why)].name});
  }
  void copy_payload(std::byte* to, std::span<const std::byte> from) const {
    if (config.copier != nullptr) return config.copier->copy(to, from);
    std::memcpy(to, from.data(), from.size());
  }
  // Ends a message. The core is told at the end of a flush or poll.
  void complete(const lnet::Completion& completion) {
    PLNET_CHECK(completion.transmit != nullptr, "a message of the core ends");
    PLNET_DEBUG_CHECK(reported_count < reported.size(), "a full list is reported at once");
    reported[reported_count++] = completion;
    if (reported_count == reported.size()) report();
  }
  void report() {
    if (reported_count == 0) return;
    const std::size_t some = reported_count;
    reported_count = 0;
    core.on_sent({reported.data(), some});
  }

  const O2ibLndConfig config;
  Tunables tunables;  // the present values: some change live
  Duration timeout;
  Identity self;
  lnet::LndUpcalls& core;
  VerbsDriver& driver;
  Instant now;
  bool shutting_down = false;
  // Changes whenever a resource has come free that others may wait for: a descriptor, a place in
  // the driver. Those that wait retry once for each change, not in each turn.
  std::uint64_t freed = 0;
  std::size_t sends_posted = 0;  // on all connections
  Counters<O2ibCounters> counters;
  std::array<lnet::Completion, 32> reported{};
  std::size_t reported_count = 0;
};

}  // namespace plnet::o2iblnd
