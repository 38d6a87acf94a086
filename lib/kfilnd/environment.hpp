// SPDX-License-Identifier: BSD-3-Clause
// The parts of one kfi LND share its configuration, its core, its driver, its counters and the time
// of the last flush.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/arena.hpp"
#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/kfilnd/context_mail.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"
#include "lib/kfilnd/lnd_counters.hpp"
#include "lib/kfilnd/peer_gate.hpp"
#include "lib/kfilnd/peer_homes.hpp"
#include "lib/kfilnd/tunables.hpp"
#include "lib/kfilnd/wire.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::kfilnd {

struct KfiLndConfig {
  lnet::Nid nid;
  const ArenaTable* arenas = nullptr;
  Tunables tunables;
  TrafficClass traffic_class = TrafficClass::kBestEffort;
  Duration lnet_lnd_timeout = std::chrono::seconds(50);  // if kfi_timeout is 0
  Fragment receive_memory;                               // cut into immediate_rx_buf_count buffers
  std::size_t peers_max = 1024;                          // up to PeerCache::kPeersMax
  std::size_t receives_max = 1024;                       // messages of peers that are not over
  std::size_t backlog_max = 16384;  // further messages, which wait in their receive buffers
  // HELLOs of ours under way, and at most a quarter of the operations that the driver takes: a
  // HELLO to an absent peer stays until the fabric gives up, and messages for other peers need
  // operations too. Further peers wait in a list through the peers, which takes no memory.
  std::size_t hellos_max = 256;
  // Messages that wait outside the receive buffers. Fewer than receives_max: a message without a
  // place here keeps its receive buffer, 2 MiB, from the NIC for as long as it waits.
  std::size_t copies_max = 1024;
  // Differs by more than 65536 between two lives of a node. Then operations of peers for the
  // previous life match nothing, and peers recognise the new life.
  std::uint32_t first_session_key = 1;
  bool always_bulk = false;  // payloads lie in memory that the CPU does not reach (a GPU's)
  // For an interface with several receive contexts, each with an LND on a shard of its own: both or
  // neither is set. They outlive the LND.
  ContextEnd* mail = nullptr;
  PeerHomes* homes = nullptr;
  PeerGate* gate = nullptr;  // null: all peers are admitted. Outlives the LND
  Instant start{};
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the counters lie apart
struct Environment {
  using Id = KfiLndCounters::Id;

  Environment(const KfiLndConfig& the_config, lnet::LndUpcalls& the_core,
              EndpointDriver& the_driver);
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  void count(Id id, std::uint64_t amount = 1) { counters.add(id, amount); }
  [[nodiscard]] std::uint8_t own_context() const { return driver.limits().receive_context; }
  // The NIC has another address than that of our NID: this interface ends.
  [[nodiscard]] bool has_moved() const { return nic_address.get() != own_nic_address; }

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

  const KfiLndConfig config;
  const Duration timeout;
  const std::uint64_t nid64;
  const std::uint64_t own_nic_address;
  lnet::LndUpcalls& core;
  EndpointDriver& driver;
  Instant now;
  bool shutting_down = false;
  Relaxed<std::uint64_t> nic_address;  // as the driver has reported it last; read by any thread
  Counters<KfiLndCounters> counters;
  std::array<lnet::Completion, 32> reported{};
  std::size_t reported_count = 0;
};

}  // namespace plnet::kfilnd
