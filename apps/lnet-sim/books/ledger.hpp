// SPDX-License-Identifier: BSD-3-Clause
// Every operation of the site from its begin to its end, as a bystander sees it who knows both
// sides. Each event is held against it; the first that does not fit is the run's violation.
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
  kPutManaged,  // the initiator says where in the target's memory
  kGet,
  kPutAfter,  // all is healed: to memory that is there for that
  kGetAfter,
};

[[nodiscard]] constexpr bool is_get(Story story) {
  return story == Story::kGet || story == Story::kGetAfter;
}

// Where its message was last seen: see Trails.
struct Trail {
  enum class State : std::uint8_t {
    kNone,
    kHanded,  // to the LND of `node`, for `hop`
    kSent,    // from there to there
    kThere,   // at `node`
    kEnded,   // there, and a counter says why
  };
  State state = State::kNone;
  bool exposed = false;  // it was by way of a node that lost power
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
  std::uint32_t room = 0;     // of the target's descriptor
  std::uint64_t content = 0;  // pattern
  std::uint32_t offset = 0;   // in it; kPutManaged: in the target's descriptor
  std::uint64_t entry = 0;    // of a PUT: the match bits of what it is for
  Instant deadline{};
  bool ack_wanted = false;
  bool sent = false;
  bool sent_well = false;
  bool answered = false;
  bool abandoned = false;  // its initiator unlinked it
  bool ended = false;      // for the initiator
  bool delivered = false;
  bool receive_failed = false;
  Trail trail{};
};

struct LedgerTally {
  std::uint64_t begun = 0;
  std::uint64_t refused = 0;  // at once
  std::uint64_t delivered = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t replies = 0;
  std::uint64_t failed = 0;  // the initiator was told
  std::uint64_t silent = 0;  // sent well, nobody waits for an answer, never delivered
  std::uint64_t died = 0;    // with their initiator
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
  // Null: no such operation, or one that was over.
  [[nodiscard]] Operation* find(std::uint64_t id);
  void cancel_begin(Operation& operation);  // refused at once

  void ended(Operation& operation);      // for its initiator: no event of it will follow
  void delivered(Operation& operation);  // to its target
  void died(Operation& operation);

  // The oldest that has not ended for its initiator.
  [[nodiscard]] Operation* oldest() { return open_.front(); }
  [[nodiscard]] std::size_t open() const { return open_count_; }
  template <class Visit>
  void for_each_open(Visit&& visit) {
    open_.for_each(visit);
  }

  // PUTs that their initiator does not wait for any more, and that have not arrived.
  template <class Visit>
  void for_each_undelivered(Visit&& visit) {
    operations_.for_each_lent([&](Operation& operation) {
      if (operation.ended && !is_get(operation.story)) visit(operation);
    });
  }

  // PUTs that were sent well, that nobody waits for any more, and that never arrived.
  template <class Visit>
  void for_each_silent(Visit&& visit) const {
    for (std::uint32_t i = 0; i < operations_.capacity(); ++i) {
      if (is_silent(operations_.at(i))) visit(operations_.at(i));
    }
  }
  [[nodiscard]] std::uint64_t never_delivered() const;

  // Only the first counts.
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
  IntrusiveList<Operation> open_;  // in the order of their begin
  std::size_t open_count_ = 0;
  std::uint64_t next_serial_ = 1;
  std::string violation_;
  LedgerTally tally_;
  std::function<void(std::uint64_t)> note_;
};

[[nodiscard]] std::string describe(const Ledger& ledger, const Operation& operation);

}  // namespace plnet::sim
