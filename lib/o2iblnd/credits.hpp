// SPDX-License-Identifier: BSD-3-Clause
// The credits of one connection, by the rules of both versions. Pure.
// lustre-release v2_17_0 lnet/klnds/o2iblnd/o2iblnd_cb.c: kiblnd_post_tx_locked(),
// kiblnd_post_rx(), kiblnd_handle_rx(); o2iblnd.h: kiblnd_need_noop().
#pragma once

#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/o2iblnd/tunables.hpp"
#include "lib/o2iblnd/wire.hpp"

namespace plnet::o2iblnd {

// The message that a receive is for when it is posted again.
enum class ReceiveUse : std::uint8_t {
  kNone,      // it had no credit, or stands in for a message that is still to come
  kPeer,      // a message of the peer's choice: a credit to give back
  kReserved,  // an answer to a request of ours
};

class Credits {
 public:
  struct Limits {
    unsigned depth = 0;
    unsigned high_water = 1;
    unsigned sends_max = 1;
    std::uint16_t version = kVersion2;
  };

  Credits() = default;
  explicit Credits(const Limits& limits)
      : limits_(limits), credits_(limits.depth), reserved_(limits.depth) {
    PLNET_CHECK(limits.depth > 0 && limits.sends_max > 0, "a connection can send");
  }

  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] unsigned credits() const { return credits_; }
  [[nodiscard]] unsigned owed() const { return owed_; }
  [[nodiscard]] unsigned reserved() const { return reserved_; }
  [[nodiscard]] unsigned sends_posted() const { return sends_posted_; }
  [[nodiscard]] unsigned noops_posted() const { return noops_posted_; }
  [[nodiscard]] bool is_v1() const { return limits_.version == kVersion1; }

  // The peer returns credits. False: more than there can be.
  [[nodiscard]] bool take_returned(unsigned count, Kind kind) {
    if (credits_ + count > limits_.depth) return false;
    credits_ += count;
    // In version 1 a NOOP has cost the peer a credit, which goes back.
    if (count > 0 && kind == Kind::kNoop && is_v1()) owe();
    PLNET_DEBUG_CHECK(credits_ <= limits_.depth && owed_ <= limits_.depth,
                      "no more credits exist than the peer has receives");
    return true;
  }
  // Whether the peer can have had a credit for one more message of its choice, while `held` of them
  // have not given theirs back.
  [[nodiscard]] bool may_arrive(unsigned held) const { return held + owed_ < limits_.depth; }
  // For a received NOOP. A keepalive of version 1 carries no credits and has cost one.
  [[nodiscard]] ReceiveUse use_of_noop(unsigned credits) const {
    return is_v1() && credits == 0 ? ReceiveUse::kPeer : ReceiveUse::kNone;
  }
  void receive_posted(ReceiveUse use) {
    if (use == ReceiveUse::kPeer) owe();
    if (use == ReceiveUse::kReserved) {
      PLNET_CHECK(reserved_ < limits_.depth, "an answer comes once");
      ++reserved_;
    }
  }

  // A request may join the queue of messages only with the receive of its answer put aside.
  [[nodiscard]] bool reserve() {
    if (reserved_ == 0) return false;
    --reserved_;
    return true;
  }

  // The request was not sent after all.
  void give_back_reserve() {
    PLNET_CHECK(reserved_ < limits_.depth, "put aside before");
    ++reserved_;
  }

  [[nodiscard]] bool may_post(bool costs_credit, Kind kind) const {
    if (sends_posted_ >= limits_.sends_max) return false;
    if (!costs_credit) return true;
    if (credits_ == 0) return false;
    // Version 1 keeps the last one for a NOOP, else both sides could wait for ever.
    return !is_v1() || credits_ > 1 || kind == Kind::kNoop;
  }
  // All owed credits went with the message.
  void posted(bool costs_credit, Kind kind) {
    PLNET_CHECK(may_post(costs_credit, kind), "posted without leave");
    if (costs_credit) --credits_;
    ++sends_posted_;
    if (kind == Kind::kNoop) ++noops_posted_;
    PLNET_DEBUG_CHECK(noops_posted_ <= sends_posted_, "a NOOP is a send");
    owed_ = 0;
  }
  void completed(Kind kind) {
    PLNET_CHECK(sends_posted_ > 0, "completed without having been posted");
    --sends_posted_;
    if (kind != Kind::kNoop) return;
    PLNET_CHECK(noops_posted_ > 0, "completed without having been posted");
    --noops_posted_;
  }

  struct Waiting {
    bool nocredit = false;  // some message waits that carries credits at no cost
    bool messages = false;  // some message waits for a credit
    bool noop = false;      // version 1: a NOOP waits
  };
  [[nodiscard]] bool needs_noop(const Waiting& waiting, bool keepalive_due) const {
    if (owed_ < limits_.high_water && !keepalive_due) return false;
    if (waiting.nocredit) return false;
    if (!is_v1()) return !waiting.messages || credits_ == 0;
    if (waiting.noop || credits_ == 0) return false;
    if (credits_ == 1 && owed_ == 0) return false;
    return !waiting.messages || credits_ == 1;
  }
  // Version 2 has receives for two of them. One more is due again when these have completed.
  [[nodiscard]] bool noops_full() const {
    return !is_v1() && noops_posted_ >= noops_posted_max(limits_.version);
  }

 private:
  void owe() {
    PLNET_CHECK(owed_ < limits_.depth, "no more is owed than was ever given");
    ++owed_;
  }

  Limits limits_;
  unsigned credits_ = 0;   // messages that the peer has receives for
  unsigned owed_ = 0;      // receives posted again that the peer does not know of
  unsigned reserved_ = 0;  // receives for answers that nothing waits for
  unsigned sends_posted_ = 0;
  unsigned noops_posted_ = 0;
};

}  // namespace plnet::o2iblnd
