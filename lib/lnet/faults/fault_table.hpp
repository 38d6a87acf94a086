// SPDX-License-Identifier: BSD-3-Clause
// The fault rules of a node: the coordinator keeps them, every shard reads what it publishes.
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

// A NID from and to which nothing gets through (`lctl fail_nid`), for so many messages.
struct FailNid {
  FailNid(const Nid& failing, std::uint32_t messages) : nid(failing), left(messages) {}

  static constexpr std::uint32_t kForever = 0xffffffff;

  const Nid nid;  // any: every one
  std::atomic<std::uint32_t> left;

  // Any shard. True: this message is one of them.
  [[nodiscard]] bool strikes(const Nid& other);
};

// Immutable once published.
struct FaultView {
  std::uint64_t version = 0;        // each has another
  bool closing = false;             // what is held back is dropped, not let go
  std::vector<FaultRule*> drops;    // newest first
  std::vector<FaultRule*> delays;   // newest first
  std::vector<FailNid*> fail_nids;  // oldest first

  [[nodiscard]] bool has_delay(std::uint64_t number) const;
  // The first drop rule that strikes, if one does.
  [[nodiscard]] FaultRule* drop(const MessageHeader& header, const Nid* local, FaultPlace place,
                                Instant now) const;
  [[nodiscard]] FaultRule* delay(const MessageHeader& header, FaultPlace place, Instant now) const;
  [[nodiscard]] bool fails(const Nid& nid) const;
};

class FaultTable {
 public:
  static constexpr std::size_t kRulesMax = kFaultRulesMax;

  FaultTable(Qsbr& qsbr, Random random) : qsbr_(qsbr), random_(random) {}

  // kInvalid: what the rule says makes no sense; kNoSpace: kRulesMax there are.
  [[nodiscard]] Outcome<void> add(const FaultSpec& spec, Instant now);
  // Every rule of the kind with exactly this source and destination; any: whatever it has. What a
  // delay rule held goes on at once. Returns how many there were.
  std::size_t remove(FaultKind kind, const Nid& source, const Nid& destination);
  // The same of rules that are exactly this one.
  std::size_t remove(const FaultSpec& spec);
  // All of the kind count from 0.
  void reset(FaultKind kind, Instant now);
  // Newest first, as they are asked.
  [[nodiscard]] std::vector<FaultReport> list(FaultKind kind) const;
  // The next `messages` from or to this NID fail; 0: those named so (any: all) do no longer.
  [[nodiscard]] Outcome<void> fail_nid(const Nid& nid, std::uint32_t messages);
  // No rules any more, and what they held is dropped.
  void close();

  // Null: there is nothing to look at.
  [[nodiscard]] const FaultView* view() const { return current_.get(); }
  // Frees what nobody can look at.
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
