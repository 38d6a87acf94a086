// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/ofi/links.hpp"

#include <bit>
#include <utility>

#include "drivers/net/ofi/claim.hpp"
#include "lib/base/check.hpp"

namespace plnet::ofi {

Links::Links(Context& context, const AddressRule& rule)
    : context_(context),
      rule_(rule),
      links_(context.config.links_max),
      buckets_(std::bit_ceil(std::size_t{context.config.links_max} * 2), kNone) {
  free_.reserve(links_.size());
  for (auto i = static_cast<std::uint32_t>(links_.size()); i-- > 0;)
    free_.push_back(i);
}

std::size_t Links::bucket(const Process& process) const {
  std::uint64_t mixed = process.nic * 0x9e3779b97f4a7c15;
  mixed ^= (std::uint64_t{process.service} << 8U | process.context) * 0xc2b2ae3d27d4eb4f;
  return (mixed >> 32U ^ mixed) & (buckets_.size() - 1);
}

std::uint32_t Links::find(const Process& process) const {
  std::uint32_t link = buckets_[bucket(process)];
  while (link != kNone && links_[link].process != process)
    link = links_[link].next;
  return link;
}

Result<std::uint32_t> Links::add(const Process& process) {
  if (free_.empty() && !drop_a_stranger()) return std::unexpected(Errc::kNoMemory);
  const Result<ProviderAddress> address = address_of(rule_, process);
  if (!address) return std::unexpected(address.error());
  const bool by_name = rule_.family == Family::kName;
  const fi_addr_t made = by_name ? FI_ADDR_NOTAVAIL : insert(*address);
  if (made == FI_ADDR_NOTAVAIL && !by_name) return std::unexpected(Errc::kNoMemory);
  const std::uint32_t number = free_.back();
  free_.pop_back();
  Link& link = links_[number];
  PLNET_CHECK(!link.in_use, "a free link is not in use");
  link = {.process = process,
          .address = made,
          .epoch = link.epoch,
          .generation = link.generation + 1,
          .in_use = true};
  std::uint32_t& head = buckets_[bucket(process)];
  link.next = head;
  head = number;
  return number;
}

fi_addr_t Links::insert(const ProviderAddress& address) {
  PLNET_CHECK(addresses_ != nullptr, "addresses are inserted after attach()");
  fi_addr_t made = FI_ADDR_NOTAVAIL;
  if (fi_av_insert(addresses_, address.bytes.data(), 1, &made, 0, nullptr) != 1)
    return FI_ADDR_NOTAVAIL;
  return made;
}

void Links::remove(fi_addr_t& address) {
  if (address != FI_ADDR_NOTAVAIL) (void)fi_av_remove(addresses_, &address, 1, 0);
  address = FI_ADDR_NOTAVAIL;
}

bool Links::look_for(std::uint32_t number) {
  Link& link = links_[number];
  const Life life = life_at(link.process);
  if (life == kNoLife) return false;
  if (life == link.life && link.former != FI_ADDR_NOTAVAIL) {
    link.address = std::exchange(link.former, FI_ADDR_NOTAVAIL);
    return true;
  }
  const ProviderAddress address = address_of(rule_, link.process, life).value();
  link.address = insert(address);
  if (link.address == FI_ADDR_NOTAVAIL && make_room(number)) link.address = insert(address);
  if (link.address == FI_ADDR_NOTAVAIL) return false;
  link.life = life;
  return true;
}

// The provider's directory is small (256 with shm). Among the ended lives, that of this link is the
// least likely to have unread packets.
bool Links::make_room(std::uint32_t number) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[(number + i) % links_.size()];
    if (link.former == FI_ADDR_NOTAVAIL) continue;
    remove(link.former);
    return true;
  }
  return false;
}

void Links::set_aside(std::uint32_t number) {
  Link& link = links_[number];
  if (link.address == FI_ADDR_NOTAVAIL) return;
  remove(link.former);
  // Packets that the provider still has for the link would go to an address that does not exist.
  if (link.in_provider == 0) link.former = link.address;
  link.address = FI_ADDR_NOTAVAIL;
  link.in_provider = 0;
  ++link.epoch;
}

std::uint32_t Links::learn(const Process& process) {
  const bool stranger = !is_of_a_peer(process);
  if (stranger && strangers_ >= context_.config.strangers_max && !drop_a_stranger()) return kNone;
  const Result<std::uint32_t> made = add(process);
  if (!made) return kNone;
  if (stranger) enlist(*made);
  return *made;
}

bool Links::is_of_a_peer(Process process) const {
  process.context = 0;
  const std::uint32_t first = find(process);
  return first != kNone && links_[first].resolves > 0;
}

void Links::enlist(std::uint32_t number) {
  Link& link = links_[number];
  PLNET_CHECK(!link.stranger, "a stranger is listed once");
  link.stranger = true;
  link.older = newest_;
  link.newer = kNone;
  (newest_ == kNone ? oldest_ : links_[newest_].newer) = number;
  newest_ = number;
  ++strangers_;
}

void Links::delist(std::uint32_t number) {
  Link& link = links_[number];
  PLNET_CHECK(link.stranger && strangers_ > 0, "strangers are listed");
  link.stranger = false;
  (link.older == kNone ? oldest_ : links_[link.older].newer) = link.newer;
  (link.newer == kNone ? newest_ : links_[link.newer].older) = link.older;
  --strangers_;
}

// A link without packets on their way. If its peer writes again it gets a new one.
bool Links::drop_a_stranger() {
  std::uint32_t number = oldest_;
  for (unsigned looks = 0; looks < kLookedAtMax && number != kNone; ++looks) {
    const std::uint32_t newer = links_[number].newer;
    if (drop(number)) return true;
    number = newer;
  }
  return false;
}

Result<kfilnd::PeerAddress> Links::resolve(const Process& process) {
  PLNET_CHECK(process.context == 0, "a process is known by its first context");
  std::uint32_t number = find(process);
  if (number == kNone) {
    const Result<std::uint32_t> made = add(process);
    if (!made) return std::unexpected(made.error());
    number = *made;
  }
  Link& link = links_[number];
  if (link.resolves++ == 0) {
    for_each_context(process, [this](std::uint32_t context) {
      if (links_[context].stranger) delist(context);
    });
  }
  return std::uint64_t{link.generation} << 32U | number;
}

void Links::forget(kfilnd::PeerAddress address) {
  const auto number = static_cast<std::uint32_t>(address);
  if (number >= links_.size() || !links_[number].in_use ||
      links_[number].generation != address >> 32U)
    return;
  PLNET_CHECK(links_[number].resolves > 0, "a handle that was given and not forgotten");
  if (--links_[number].resolves > 0) return;
  links_[number].generation += 1;
  // A link with packets on their way keeps its place, as a stranger.
  for_each_context(links_[number].process, [this](std::uint32_t context) {
    if (!drop(context)) enlist(context);
  });
}

bool Links::drop(std::uint32_t number) {
  Link& link = links_[number];
  PLNET_CHECK(link.in_use, "a link is dropped once");
  PLNET_CHECK(link.resolves == 0, "a link of a peer stays until the peer is forgotten");
  if (link.first != kNone || link.open != kNone || link.in_provider + link.users > 0) return false;
  if (link.stranger) delist(number);
  remove(link.address);
  remove(link.former);
  std::uint32_t* at = &buckets_[bucket(link.process)];
  while (*at != number)
    at = &links_[*at].next;
  *at = link.next;
  link.in_use = false;
  free_.push_back(number);
  return true;
}

Result<std::uint32_t> Links::of(const kfilnd::Target& target) {
  const auto number = static_cast<std::uint32_t>(target.address);
  if (number >= links_.size() || !links_[number].in_use ||
      links_[number].generation != target.address >> 32U)
    return std::unexpected(Errc::kNotFound);
  Process process = links_[number].process;
  if (process.context == target.receive_context) return number;
  process.context = target.receive_context;
  const std::uint32_t known = find(process);
  if (known != kNone) return known;
  return add(process);
}

bool Links::would_miss_us(std::uint32_t number) const {
  const Link& link = links_[number];
  return rule_.family == Family::kName && link.in_use && link.incarnation != 0 &&
         link.address != FI_ADDR_NOTAVAIL && life_at(link.process) == link.life;
}

void Links::leave(std::uint32_t number) {
  links_[number].incarnation = 0;
  if (rule_.family == Family::kName) set_aside(number);
}

void Links::refresh(std::uint32_t number) {
  const Link& link = links_[number];
  // Over IP the provider finds a new process at the old address by itself.
  if (rule_.family != Family::kName || link.address == FI_ADDR_NOTAVAIL) return;
  if (life_at(link.process) == link.life) return;
  set_aside(number);
  (void)look_for(number);
}

}  // namespace plnet::ofi
