// SPDX-License-Identifier: BSD-3-Clause
// The fault rules of a node: the coordinator keeps them, every shard reads the published view.
// Control path: allocates.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/base/qsbr.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/faults/fault_rule.hpp"

namespace plnet::lnet {

// A NID whose messages fail in both directions (`lctl fail_nid`), for a number of messages.
struct FailNid {
  FailNid(const Nid& failing, std::uint32_t messages) : nid(failing), left(messages) {}

  static constexpr std::uint32_t kForever = 0xffffffff;

  const Nid nid;  // any: all NIDs
  std::atomic<std::uint32_t> left;

  // Any shard. True: this message fails.
  [[nodiscard]] bool strikes(const Nid& other);
};

// Immutable once published.
struct FaultView {
  std::uint64_t version = 0;        // unique
  bool closing = false;             // true: held messages are dropped instead of going on
  std::vector<FaultRule*> drops;    // newest first
  std::vector<FaultRule*> delays;   // newest first
  std::vector<FailNid*> fail_nids;  // oldest first

  [[nodiscard]] bool has_delay(std::uint64_t number) const;
  // The first drop rule that strikes; null: none does.
  [[nodiscard]] FaultRule* drop(const MessageHeader& header, const Nid* local, FaultPlace place,
                                Instant now) const;
  [[nodiscard]] FaultRule* delay(const MessageHeader& header, FaultPlace place, Instant now) const;
  [[nodiscard]] bool fails(const Nid& nid) const;
};

class FaultTable {
 public:
  static constexpr std::size_t kRulesMax = kFaultRulesMax;

  FaultTable(Qsbr& qsbr, Random random) : qsbr_(qsbr), random_(random) {}

  // kInvalid: the spec makes no sense; kNoSpace: there are kRulesMax rules.
  [[nodiscard]] Outcome<void> add(const FaultSpec& spec, Instant now);
  // Removes every rule of the kind with exactly this source and destination; any matches all.
  // Messages that a delay rule held go on at once. Returns the number of removed rules.
  std::size_t remove(FaultKind kind, const Nid& source, const Nid& destination);
  // The same for rules equal to `spec`.
  std::size_t remove(const FaultSpec& spec);
  // All rules of the kind count from 0.
  void reset(FaultKind kind, Instant now);
  // Newest first, the order in which they are asked.
  [[nodiscard]] std::vector<FaultReport> list(FaultKind kind) const;
  // The next `messages` from or to this NID fail; 0: removes the entries of this NID (any: all).
  [[nodiscard]] Outcome<void> fail_nid(const Nid& nid, std::uint32_t messages);
  // Removes all rules, and drops the messages that they held.
  void close();

  // Null: there are no rules.
  [[nodiscard]] const FaultView* view() const { return current_.get(); }
  // Frees rules that no shard can read any more.
  void step();

 private:
  template <class T>
  struct Retired {
    std::unique_ptr<T> object;
    Qsbr::Grace grace = 0;
  };

  template <class Predicate>
  std::size_t remove_if(Predicate&& wanted);
  void publish(bool closing = false);
  template <class T>
  void retire(std::unique_ptr<T> object, std::vector<Retired<T>>& to);
  template <class T, class Predicate>
  std::size_t remove_if(std::vector<std::unique_ptr<T>>& from, std::vector<Retired<T>>& to,
                        Predicate&& wanted);

  Qsbr& qsbr_;
  Random random_;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_version_ = 0;
  std::vector<std::unique_ptr<FaultRule>> rules_;  // newest first
  std::vector<std::unique_ptr<FailNid>> fail_nids_;
  std::unique_ptr<const FaultView> current_;
  std::vector<Retired<const FaultView>> old_views_;
  std::vector<Retired<FaultRule>> old_rules_;
  std::vector<Retired<FailNid>> old_fail_nids_;
};

}  // namespace plnet::lnet
