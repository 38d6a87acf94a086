// SPDX-License-Identifier: BSD-3-Clause
// Every operation of the site from its begin to its end, observed on both sides. Each event is
// checked against it; the first mismatch is the violation of the run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/lnet/api/memory_descriptor.hpp"

namespace plnet::sim {

enum class Story : std::uint8_t {
  kPutWildcard,
  kPutUnique,
  kPutLazy,
  kPutManaged,  // the initiator chooses the offset in the target's memory
  kGet,
  kPutAfter,  // after the site is healed: to memory prepared for it
  kGetAfter,
};

[[nodiscard]] constexpr bool is_get(Story story) {
  return story == Story::kGet || story == Story::kGetAfter;
}

// The last known place of its message: see Trails.
struct Trail {
  enum class State : std::uint8_t {
    kNone,
    kHanded,  // given to the LND of `node`, for `hop`
    kSent,    // from `node` to `hop`
    kThere,   // at `node`
    kEnded,   // at `node`, with a counted cause
  };
  State state = State::kNone;
  bool exposed = false;  // it passed a node that lost power
  std::uint32_t node = 0;
  std::uint32_t hop = 0;
  Instant sent_at{};
};

// An operation. Its id travels in header data or match bits.
struct Operation : ListNode<> {
  std::uint64_t serial = 0;  // 0: free
  Story story = Story::kPutWildcard;
  std::uint32_t initiator = 0;  // node
  std::uint32_t target = 0;
  lnet::ShardId shard = 0;        // of the initiator
  lnet::ShardId entry_shard = 0;  // of the match entry, if it has one of its own
  std::uint32_t length = 0;
  std::uint32_t room = 0;     // room of the target's descriptor
  std::uint64_t content = 0;  // pattern
  std::uint32_t offset = 0;   // within the content; kPutManaged: in the target's descriptor
  std::uint64_t entry = 0;    // of a PUT: the match bits of its match entry
  Instant begun{};
  Instant deadline{};
  // It is an attempt of an RPC, and the initiator gives it up at a time.
  Instant rpc_begun{};
  Instant expires = Instant::max();
  unsigned attempt = 1;
  Errc why = Errc::kTimedOut;  // of a failure
  bool ack_wanted = false;
  bool sent = false;
  bool sent_well = false;
  bool answered = false;
  bool abandoned = false;  // its initiator unlinked it
  bool ended = false;      // seen from the initiator
  bool delivered = false;
  bool receive_failed = false;
  Trail trail{};
};

struct LedgerTally {
  std::uint64_t begun = 0;
  std::uint64_t refused = 0;  // refused by the call that began them
  std::uint64_t delivered = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t replies = 0;
  std::uint64_t failed = 0;  // with an event at the initiator
  std::uint64_t silent = 0;  // sent successfully, without an awaited answer, never delivered
  std::uint64_t died = 0;    // ended with their initiator
  std::uint64_t bytes = 0;
};

class Ledger {
 public:
  Ledger(std::size_t operations, std::function<void(std::uint64_t)> note);

  // Null: all records are in use.
  [[nodiscard]] Operation* begin(Instant deadline);
  [[nodiscard]] std::uint64_t id_of(const Operation& operation) const {
    return operation.serial << 24 | operations_.index_of(&operation);
  }
  // Null: no such operation, or it has ended.
  [[nodiscard]] Operation* find(std::uint64_t id);
  void cancel_begin(Operation& operation);  // refused by the call that began it

  void ended(Operation& operation);      // for its initiator: no further event follows
  void delivered(Operation& operation);  // to its target
  void died(Operation& operation);

  // The oldest that has not ended for its initiator.
  [[nodiscard]] Operation* oldest() { return open_.front(); }
  [[nodiscard]] std::size_t open() const { return open_count_; }
  template <class Visit>
  void for_each_open(Visit&& visit) {
    open_.for_each(visit);
  }

  // PUTs that have ended for their initiator but have not arrived.
  template <class Visit>
  void for_each_undelivered(Visit&& visit) {
    operations_.for_each_lent([&](Operation& operation) {
      if (operation.ended && !is_get(operation.story)) visit(operation);
    });
  }

  // PUTs that were sent successfully, have ended for their initiator, and never arrived.
  template <class Visit>
  void for_each_silent(Visit&& visit) const {
    for (std::uint32_t i = 0; i < operations_.capacity(); ++i) {
      if (is_silent(operations_.at(i))) visit(operations_.at(i));
    }
  }
  [[nodiscard]] std::uint64_t never_delivered() const;

  // Only the first violation counts.
  void violate(std::string what);
  [[nodiscard]] const std::string& violation() const { return violation_; }
  [[nodiscard]] bool violated() const { return !violation_.empty(); }
  [[nodiscard]] const LedgerTally& tally() const { return tally_; }
  [[nodiscard]] LedgerTally& tally() { return tally_; }
  void note(std::uint64_t fact) { note_(fact); }

 private:
  [[nodiscard]] static bool is_silent(const Operation& operation);
  void forget_if_over(Operation& operation);

  Pool<Operation> operations_;
  IntrusiveList<Operation> open_;  // in the order of their beginning
  std::size_t open_count_ = 0;
  std::uint64_t next_serial_ = 1;
  std::string violation_;
  LedgerTally tally_;
  std::function<void(std::uint64_t)> note_;
};

[[nodiscard]] std::string describe(const Ledger& ledger, const Operation& operation);

}  // namespace plnet::sim
