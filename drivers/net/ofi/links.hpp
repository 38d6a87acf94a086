// SPDX-License-Identifier: BSD-3-Clause
// The directory of known remote contexts: the provider's name for each, and the packets that wait
// for the provider on the way to it.
#pragma once

#include <cstdint>
#include <vector>

#include <rdma/fi_domain.h>

#include "drivers/net/ofi/address.hpp"
#include "drivers/net/ofi/context.hpp"
#include "lib/base/check.hpp"
#include "lib/base/result.hpp"

namespace plnet::ofi {

struct Link {
  Process process;
  fi_addr_t address =
      FI_ADDR_NOTAVAIL;  // by name: valid even while no endpoint can be reached there
  // By name: the address of the previous life, which the provider needs for packets of that life
  // that we have not read yet.
  fi_addr_t former = FI_ADDR_NOTAVAIL;
  Life life = kNoLife;            // the latest that was found
  std::uint32_t epoch = 0;        // of the operations that the provider has: differs for each life
  Instant due{};                  // the time of the next offer of a packet to the provider
  std::uint32_t incarnation = 0;  // 0: the peer has not told it yet
  std::uint32_t generation = 0;   // of the handle from resolve()
  std::uint32_t next = kNone;     // in its bucket
  // Packets, by number: those that the provider has not taken yet, and records being gathered.
  std::uint32_t first = kNone;
  std::uint32_t last = kNone;
  std::uint32_t open = kNone;
  std::uint32_t in_provider = 0;  // of this epoch
  std::uint32_t users = 0;        // operations and tagged buffers
  // Calls of resolve() that were not forgotten yet: the LND may have two peers of one process, one
  // of them deleted while it has transactions. 0: the context has only written to us.
  std::uint32_t resolves = 0;
  bool in_use = false;
  // No context of its process is resolved: it may be dropped, the one silent for longest first.
  bool stranger = false;
  std::uint32_t older = kNone;
  std::uint32_t newer = kNone;
};

// Cold except find(), at() and of().
class Links {
 public:
  Links(Context& context, const AddressRule& rule);
  void attach(fid_av* addresses) {
    PLNET_CHECK(addresses_ == nullptr && addresses != nullptr,
                "an endpoint has one address vector");
    addresses_ = addresses;
  }

  [[nodiscard]] std::uint32_t find(const Process& process) const;  // kNone: unknown
  // The link of a sender. kNone: there is no place for it.
  [[nodiscard]] std::uint32_t learn(const Process& process);
  void heard(std::uint32_t link) {
    if (!links_[link].stranger || link == newest_) return;
    delist(link);
    enlist(link);
  }
  // Returns the same handle for each call; it is valid until it was forgotten as often.
  [[nodiscard]] Result<kfilnd::PeerAddress> resolve(const Process& process);
  void forget(kfilnd::PeerAddress address);
  // The context that a target names: made at its first use.
  [[nodiscard]] Result<std::uint32_t> of(const kfilnd::Target& target);
  // Whether the provider takes packets for it.
  [[nodiscard]] bool reachable(std::uint32_t link) {
    return links_[link].address != FI_ADDR_NOTAVAIL || look_for(link);
  }
  // The peer has said that it leaves; the next process at its place is looked up anew.
  void leave(std::uint32_t link);
  // Whether the peer would notice that we leave: it knows us, by name, and is still there.
  [[nodiscard]] bool would_miss_us(std::uint32_t link) const;
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(links_.size()); }
  // A packet was not answered, or another process has answered: looks up the place again.
  void refresh(std::uint32_t link);
  // The provider has a packet or a read for the link. The caller keeps the epoch until it comes
  // back: operations for an ended life may stay with the provider for ever.
  [[nodiscard]] std::uint32_t lend(std::uint32_t link) {
    PLNET_DEBUG_CHECK(links_[link].in_use, "packets go over links in use");
    ++links_[link].in_provider;
    return links_[link].epoch;
  }
  void take_back(std::uint32_t link, std::uint32_t epoch) {
    if (links_[link].epoch != epoch) return;
    PLNET_DEBUG_CHECK(links_[link].in_provider > 0, "each packet returns once");
    --links_[link].in_provider;
  }
  [[nodiscard]] Link& at(std::uint32_t link) {
    PLNET_CHECK(link < links_.size(), "a link of this directory");
    return links_[link];
  }

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
  // The LND resolves processes, which stand for all their contexts.
  [[nodiscard]] bool is_of_a_peer(Process process) const;
  bool drop(std::uint32_t link);  // false: packets are on their way
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
  std::uint32_t oldest_ = kNone;  // the first of the strangers
  std::uint32_t newest_ = kNone;

  static constexpr unsigned kLookedAtMax = 64;  // strangers, in search of an idle one
};

}  // namespace plnet::ofi
