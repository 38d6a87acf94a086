// SPDX-License-Identifier: BSD-3-Clause
// The directory: which remote contexts are known, how the provider calls them, and what waits for
// the provider on the way to each.
#pragma once

#include <cstdint>
#include <vector>

#include <rdma/fi_domain.h>

#include "drivers/net/ofi/address.hpp"
#include "drivers/net/ofi/context.hpp"
#include "lib/base/result.hpp"

namespace plnet::ofi {

struct Link {
  Process process;
  fi_addr_t address = FI_ADDR_NOTAVAIL;  // by name: also while nobody can be reached there
  // By name: of the life before, which the provider needs for what that one has sent and we have
  // not read yet.
  fi_addr_t former = FI_ADDR_NOTAVAIL;
  Life life = kNoLife;            // the latest that was found
  std::uint32_t epoch = 0;        // of what the provider holds: another for each life
  Instant due{};                  // when to offer the provider the next packet again
  std::uint32_t incarnation = 0;  // 0: it has told us nothing yet
  std::uint32_t generation = 0;   // of the handle that resolve() gave
  std::uint32_t next = kNone;     // in its bucket
  // Packets, by number: what the provider has not taken yet, and records being gathered.
  std::uint32_t first = kNone;
  std::uint32_t last = kNone;
  std::uint32_t open = kNone;
  std::uint32_t in_provider = 0;  // of this epoch
  std::uint32_t users = 0;        // operations and tagged buffers
  // Calls of resolve() that were not forgotten yet: the LND may have two peers of one process, one
  // of them deleted with transactions still on it. 0: it has only written to us.
  std::uint32_t resolves = 0;
  bool in_use = false;
  // No context of its process is resolved: it may be dropped, the one heard longest ago first.
  bool stranger = false;
  std::uint32_t older = kNone;
  std::uint32_t newer = kNone;
};

// Cold but for find(), at() and of().
class Links {
 public:
  Links(Context& context, const AddressRule& rule);
  void attach(fid_av* addresses) { addresses_ = addresses; }

  [[nodiscard]] std::uint32_t find(const Process& process) const;  // kNone: unknown
  // Of somebody who has written to us. kNone: there is no place for it.
  [[nodiscard]] std::uint32_t learn(const Process& process);
  void heard(std::uint32_t link) {
    if (!links_[link].stranger || link == newest_) return;
    delist(link);
    enlist(link);
  }
  // The same handle however often it is asked for; it is good until forgotten as often.
  [[nodiscard]] Result<kfilnd::PeerAddress> resolve(const Process& process);
  void forget(kfilnd::PeerAddress address);
  // The context that a target names: made when it is used first.
  [[nodiscard]] Result<std::uint32_t> of(const kfilnd::Target& target);
  // Whether the provider can be given packets for it.
  [[nodiscard]] bool reachable(std::uint32_t link) {
    return links_[link].address != FI_ADDR_NOTAVAIL || look_for(link);
  }
  // It says that it goes; who comes next to its place is found anew.
  void leave(std::uint32_t link);
  // Whether it would notice that we leave: it knows us, by name, and is still there itself.
  [[nodiscard]] bool would_miss_us(std::uint32_t link) const;
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(links_.size()); }
  // Something was not answered, or somebody else was: whose place is it now?
  void refresh(std::uint32_t link);
  // The provider has a packet or a read for it. The epoch is to be told when it comes back: what
  // it holds for a life that has ended, it may hold for good.
  [[nodiscard]] std::uint32_t lend(std::uint32_t link) {
    ++links_[link].in_provider;
    return links_[link].epoch;
  }
  void take_back(std::uint32_t link, std::uint32_t epoch) {
    if (links_[link].epoch == epoch) --links_[link].in_provider;
  }
  [[nodiscard]] Link& at(std::uint32_t link) { return links_[link]; }

 private:
  [[nodiscard]] Result<std::uint32_t> add(const Process& process);
  [[nodiscard]] std::size_t bucket(const Process& process) const;
  template <class Visit>
  void for_each_context(Process process, Visit&& visit) {
    for (unsigned context = 0; context < kContextsMax; ++context) {
      process.context = static_cast<std::uint8_t>(context);
      if (const std::uint32_t link = find(process); link != kNone) visit(link);
    }
  }
  // The LND resolves processes, and means all their contexts.
  [[nodiscard]] bool is_of_a_peer(Process process) const;
  bool drop(std::uint32_t link);  // false: something is on its way
  [[nodiscard]] bool drop_a_stranger();
  void enlist(std::uint32_t link);
  void delist(std::uint32_t link);
  [[nodiscard]] fi_addr_t insert(const ProviderAddress& address);
  [[nodiscard]] bool look_for(std::uint32_t link);
  void set_aside(std::uint32_t link);
  [[nodiscard]] bool make_room(std::uint32_t link);
  void remove(fi_addr_t& address);

  Context& context_;
  AddressRule rule_;
  fid_av* addresses_ = nullptr;
  std::vector<Link> links_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> buckets_;
  unsigned strangers_ = 0;
  std::uint32_t oldest_ = kNone;  // of the strangers
  std::uint32_t newest_ = kNone;

  static constexpr unsigned kLookedAtMax = 64;  // strangers, for one that is idle
};

}  // namespace plnet::ofi
