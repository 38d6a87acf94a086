// SPDX-License-Identifier: BSD-3-Clause
#include "bench/drivers/ofi_nodes.hpp"

#include <cstring>

#include <rdma/fi_rma.h>

#include "lib/base/check.hpp"

namespace plnet::bench {

using kfilnd::FabricCompletion;
using kfilnd::FabricEvent;
using Ask = OfiWords::Ask;

static_assert(sizeof(OfiWords) == 24);  // a small message

ofi::DeviceConfig shm_config(std::uint64_t nic, unsigned service) {
  return {.provider = "shm", .addresses = {}, .nic_address = nic, .service = service};
}

OfiMemory::OfiMemory() : bytes(kBuffersAt + std::uint64_t{kBuffers} * kBufferBytes) {
  const auto arena = arenas.add({.base = bytes.data(), .size = bytes.size()});
  PLNET_CHECK(arena.has_value(), "the first arena fits");
}

Outcome<std::unique_ptr<OfiNode>> OfiNode::start(std::uint64_t nic, unsigned service,
                                                 unsigned other) {
  std::unique_ptr<OfiNode> made(new OfiNode());
  auto device = ofi::Device::open(shm_config(nic, service), made->memory_.arenas);
  if (!device) return std::unexpected(std::move(device.error()));
  made->device_ = std::move(*device);
  auto endpoint = ofi::Endpoint::create(*made->device_, {.seed = service + 1U}, *made);
  if (!endpoint) return std::unexpected(std::move(endpoint.error()));
  made->endpoint_ = std::move(*endpoint);
  made->peer_ = {made->endpoint_->resolve(nic, other).value(), 0};
  for (unsigned i = 0; i < OfiMemory::kBuffers; ++i)
    made->to_post_.push_back(i);
  return made;
}

unsigned OfiNode::turn() {
  const unsigned done = endpoint_->poll(clock_.now());
  while (!to_post_.empty()) {
    const Fragment buffer{
        {0, OfiMemory::kBuffersAt + std::uint64_t{to_post_.back()} * OfiMemory::kBufferBytes},
        OfiMemory::kBufferBytes};
    if (!endpoint_->post_multi_receive(buffer, kOwn + to_post_.back())) break;
    to_post_.pop_back();
  }
  while (!owed_.empty() && pay(owed_.front()))
    owed_.pop_front();
  return done;
}

Result<void> OfiNode::send(const OfiWords& words, std::uint64_t cookie) {
  return endpoint_->send(peer_, std::as_bytes(std::span(&words, 1)), {}, cookie);
}

bool OfiNode::begin_bulk(std::uint64_t number, std::uint32_t length) {
  const Fragment fragment = OfiMemory::place(number, length);
  const lnet::Payload payload{{&fragment, 1}, 0, length};
  if (!endpoint_->post_tagged(peer_, ++tag_, true, payload, 1)) return false;
  while (!send({.ask = Ask::kPut, .tag = tag_, .address = length}, 0))
    (void)turn();
  ++begun;
  return true;
}

void OfiNode::on_completions(std::span<const FabricCompletion> burst) {
  for (const FabricCompletion& one : burst) {
    if (!one.status) ++bad;
    if (one.event == FabricEvent::kMessage) {
      const std::uint64_t number = one.cookie - kOwn;
      OfiWords words;
      std::memcpy(&words,
                  memory_.bytes.data() + OfiMemory::kBuffersAt + number * OfiMemory::kBufferBytes +
                      one.offset,
                  sizeof words);
      if (one.buffer_unlinked) to_post_.push_back(static_cast<unsigned>(number));
      if (words.ask != Ask::kNothing) owed_.push_back(words);
    } else if (one.event == FabricEvent::kSent && one.cookie < kOwn) {
      ++ended;
    } else if (one.event == FabricEvent::kTaggedRead) {
      ++bulk_done;
    }
  }
}

bool OfiNode::pay(const OfiWords& words) {
  const auto length = static_cast<std::uint32_t>(words.address);
  const Fragment fragment = OfiMemory::place(reads_, length);
  const lnet::Payload payload{{&fragment, 1}, 0, length};
  if (!endpoint_->read_tagged(peer_, words.tag, payload, kOwn)) return false;
  ++reads_;
  return true;
}

Outcome<std::unique_ptr<BareNode>> BareNode::start(std::uint64_t nic, unsigned service,
                                                   unsigned other) {
  std::unique_ptr<BareNode> made(new BareNode());
  made->other_ = other;
  if (auto opened = made->open(nic, service); !opened)
    return std::unexpected(std::move(opened.error()));
  return made;
}

Outcome<void> BareNode::open(std::uint64_t nic, unsigned service) {
  config_ = shm_config(nic, service);
  auto device = ofi::Device::open(config_, memory_.arenas);
  if (!device) return std::unexpected(std::move(device.error()));
  device_ = std::move(*device);
  constexpr std::size_t kEvents = std::size_t{2} * kSlots;
  if (auto opened = device_->open_port(port_, 0, service + 1U, kEvents, kEvents); !opened)
    return opened;
  region_ = registered_.add(port_.domain, *port_.info, memory_.bytes);
  if (region_ == nullptr) return failure(Errc::kNoMemory, "fi_mr_reg: refused");
  for (Slot& slot : slots_)
    post(slot);
  return port_.publish();
}

BareNode::~BareNode() {
  port_.close_endpoint();
  registered_.close();
}

void BareNode::post(Slot& slot) {
  const ssize_t posted =
      fi_recv(port_.endpoint, &slot.words, sizeof slot.words, nullptr, FI_ADDR_UNSPEC, &slot.space);
  PLNET_CHECK(posted == 0, "as many receives as there were");
}

bool BareNode::find_peer() {
  if (peer_ != FI_ADDR_NOTAVAIL) return true;
  const ofi::Process peer{config_.nic_address, other_, 0};
  const ofi::Life life = ofi::life_at(peer);
  const auto name = ofi::address_of(config_.addresses, peer, life).value();
  return life != ofi::kNoLife &&
         fi_av_insert(port_.addresses, name.bytes.data(), 1, &peer_, 0, nullptr) == 1;
}

bool BareNode::send(const OfiWords& words) {
  return find_peer() && fi_inject(port_.endpoint, &words, sizeof words, peer_) == 0;
}

bool BareNode::read(std::uint64_t number, std::uint32_t length) {
  const std::uint64_t at = OfiMemory::place(number, length).at.offset;
  return fi_read(port_.endpoint, memory_.bytes.data() + at, length, region_->descriptor, peer_,
                 remote_ + at, key_, &reads_[number % reads_.size()]) == 0;
}

unsigned BareNode::turn() {
  unsigned done = 0;
  if (const ssize_t sent = fi_cq_read(port_.tx_queue, entries_.data(), entries_.size()); sent > 0) {
    read_done += static_cast<std::uint64_t>(sent);
    done += static_cast<unsigned>(sent);
  }
  const ssize_t come = fi_cq_read(port_.rx_queue, entries_.data(), entries_.size());
  for (ssize_t i = 0; i < come; ++i) {
    // The context is the slot's first member.
    Slot& slot = *static_cast<Slot*>(entries_[static_cast<std::size_t>(i)].op_context);
    const OfiWords words = slot.words;
    post(slot);
    on_words(words);
    ++done;
  }
  if (owes_echo_ && send({.address = region_->remote_base, .key = region_->key}))
    owes_echo_ = false;
  return done;
}

void BareNode::on_words(const OfiWords& words) {
  if (words.ask == Ask::kEcho) owes_echo_ = true;
  if (words.key == 0) return;
  remote_ = words.address;
  key_ = words.key;
  ++answers;
}

}  // namespace plnet::bench
