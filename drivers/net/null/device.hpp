// SPDX-License-Identifier: BSD-3-Clause
// A network without hardware: the smallest complete driver, and the first one to read. It
// implements lnet::Lnd itself, without a protocol below. Benchmarks of the core run on it, since
// then they measure nothing but the core.
//
// It shows the duties of a driver: take bursts within a fixed capacity, end each message exactly
// once and never inside send(), offer arriving messages, honour parked messages, and shut down
// cleanly.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "drivers/net/null/memory.hpp"
#include "drivers/net/null/peer.hpp"
#include "drivers/net/null/rx.hpp"
#include "drivers/net/null/source.hpp"
#include "drivers/net/null/stats.hpp"
#include "drivers/net/null/tx.hpp"
#include "lib/base/check.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::drivers {

enum class NullMode : std::uint8_t {
  kSink,    // each message ends well at once; nothing ever arrives
  kEcho,    // as kSink, and a perfect peer answers: PUT with an ACK if asked, GET with a REPLY,
            // a ping with the buffer of a node that has this one NID
  kSource,  // as kSink, and messages arrive without end
};

struct NullConfig {
  NullMode mode = NullMode::kSink;
  lnet::NetType net_type = lnet::NetType::kTcp;
  bool places_replies = false;       // kEcho: a GET's sink is filled at once, as RDMA networks do
  std::size_t in_flight_max = 4096;  // messages held; further ones are back-pressure
  std::size_t peers_max = 256;
  unsigned tx_budget = 256;                  // messages ended per flush(), which keeps a turn short
  const ArenaTable* arenas = nullptr;        // if given, payloads are filled with a pattern
  std::optional<NullSourceConfig> source{};  // needed by kSource
};

class NullLnd final : public lnet::Lnd {
 public:
  // `random` is used by kSource only. Allocates here and never again.
  NullLnd(const NullConfig& config, lnet::LndUpcalls& core, Random& random);

  [[nodiscard]] const lnet::LndTraits& traits() const override { return traits_; }
  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override;
  unsigned flush(Instant now) override;
  void cancel(lnet::Transmit& transmit) override;
  void release_peer(lnet::PeerLink& link) override;
  void shut_down() override;
  [[nodiscard]] bool idle() const override {
    PLNET_DEBUG_CHECK(in_flight_ > 0 || ready_.empty(), "a queued message is under way");
    return in_flight_ == 0 && events_ == nullptr;
  }
  [[nodiscard]] Instant next_deadline() const override;
  [[nodiscard]] CounterView counters() const override { return stats_.view(); }

 private:
  [[nodiscard]] NullPeer* peer_of(lnet::PeerLink& link);
  [[nodiscard]] bool wants_answer(const lnet::Transmit& transmit) const;
  unsigned transmit_burst(Instant now);
  void transmit_one(lnet::Transmit& transmit, Instant now);
  void answer(NullPeer& peer, const lnet::Transmit& transmit);
  [[nodiscard]] static std::uint32_t answer_ping(NullPeer& peer, const lnet::Nid& asked);
  [[nodiscard]] bool places_reply(const lnet::Transmit& transmit) const;
  lnet::Completion place_reply(lnet::Transmit& transmit);
  void end(lnet::Transmit& transmit, const lnet::Completion& completion);
  void fail(lnet::Transmit& transmit, Errc code);
  unsigned expire_waiting(Instant now);
  unsigned handle_events();
  bool release_now(NullPeer& peer);
  void raise_event(NullPeer& peer);

  const NullConfig config_;
  const lnet::LndTraits traits_;
  lnet::LndUpcalls& core_;
  NullStats stats_;
  NullMemory memory_;
  NullPeers peers_;
  NullRx rx_;
  std::optional<NullSource> source_;

  TxQueue ready_;
  CompletionBurst done_;
  std::size_t in_flight_ = 0;
  NullPeer* events_ = nullptr;  // peers with a decision to run or a link to release
  Instant waiting_deadline_ =
      Instant::max();  // the earliest deadline of a message that waits for its peer
  bool shutting_down_ = false;
};

}  // namespace plnet::drivers
