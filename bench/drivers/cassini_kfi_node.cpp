// SPDX-License-Identifier: BSD-3-Clause
#include "bench/drivers/cassini_kfi_node.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::bench {

using kfilnd::FabricCompletion;
using kfilnd::FabricEvent;

namespace {

constexpr std::uint64_t kBulkPart = std::uint64_t{KfiNode::kBulkMax} * KfiNode::kBulkPlaces;

std::byte byte_of(std::uint64_t cookie, std::size_t at) {
  return static_cast<std::byte>(cookie * 31 + at + at / 251);
}

}  // namespace

Outcome<std::unique_ptr<KfiNode>> KfiNode::start(const KfiNodeOptions& options) {
  auto made = std::unique_ptr<KfiNode>(new KfiNode());
  runtime::EalRequest request;
  request.lcores = {{.shard = 0, .cpu = options.cpu}};
  request.main_cpus = {options.cpu};
  request.memory_mib = 64;
  request.extra = {"--vdev=" + options.vdev};
  request.log = [](runtime::EalLevel level, std::string_view line) {
    if (level == runtime::EalLevel::kError)
      (void)std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  };
  auto eal = runtime::Eal::start(request, {});
  if (!eal) return std::unexpected(std::move(eal.error()));
  made->eal_ = std::move(*eal);
  cassini::soft::NodeOnEthdevOptions node_options{.wire = options.wire, .faults = {}};
  node_options.wire.port = options.vdev.substr(0, options.vdev.find(','));
  node_options.node.port.retry.time_divisor = options.time_divisor;
  auto node = cassini::soft::NodeOnEthdev::open(node_options);
  if (!node) return std::unexpected(std::move(node.error()));
  made->node_ = std::move(*node);
  auto faults = cassini::soft::FrameFaults::attach(node_options.wire.port, {});
  if (!faults) return std::unexpected(std::move(faults.error()));
  made->faults_ = std::move(*faults);
  // Own bulk, bulk that others request, messages.
  made->memory_.resize(2 * kBulkPart + std::uint64_t{kBuffers} * kBufferBytes);
  auto arena = made->arenas_.add({.base = made->memory_.data(), .size = made->memory_.size()});
  PLNET_CHECK(arena.has_value(), "the first arena fits");
  auto device = cassini::Device::open(made->node_->backend(), {.pid = kService}, made->arenas_);
  if (!device) return std::unexpected(std::move(device.error()));
  made->device_ = std::move(*device);
  cassini::EndpointConfig config;
  config.link_period = std::chrono::milliseconds(10);
  auto endpoint = cassini::Endpoint::create(*made->device_, config, *made);
  if (!endpoint) return std::unexpected(std::move(endpoint.error()));
  made->endpoint_ = std::move(*endpoint);
  for (unsigned i = 0; i < kBuffers; ++i)
    made->to_post_.push_back(i);
  for (unsigned i = 0; i < kBulkPlaces; ++i)
    made->free_places_.push_back(i);
  return made;
}

KfiNode::~KfiNode() {
  endpoint_.reset();
  device_.reset();
  faults_.reset();
}

unsigned KfiNode::turn() {
  const Instant now = clock_.now();
  const unsigned done = node_->poll(now) + endpoint_->poll(now);
  while (!to_post_.empty()) {
    const Fragment buffer{{0, 2 * kBulkPart + std::uint64_t{to_post_.back()} * kBufferBytes},
                          kBufferBytes};
    if (!endpoint_->post_multi_receive(buffer, kOwn + to_post_.back())) break;
    to_post_.pop_back();
  }
  while (!owed_.empty() && pay(owed_.front()))
    owed_.pop_front();
  return done;
}

kfilnd::Target KfiNode::peer(std::uint32_t nic) {
  const auto known = std::ranges::find(peers_, nic, [](const auto& one) { return one.first; });
  if (known != peers_.end()) return known->second;
  const kfilnd::Target target{endpoint_->resolve(nic, kService).value(), 0};
  peers_.emplace_back(nic, target);
  return target;
}

Result<void> KfiNode::send(const kfilnd::Target& to, const KfiWords& words, std::uint64_t cookie) {
  return endpoint_->send(to, std::as_bytes(std::span(&words, 1)), {}, cookie);
}

Fragment KfiNode::place(unsigned number, std::uint32_t length) {
  PLNET_CHECK(number < kBulkPlaces && length <= kBulkMax, "a place as long as that");
  return {{0, std::uint64_t{number} * kBulkMax}, length};
}

std::span<std::byte> KfiNode::bytes(const Fragment& fragment) {
  return std::span(memory_).subspan(fragment.at.offset, fragment.length);
}

void KfiNode::fill(std::span<std::byte> bytes, std::uint64_t cookie) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = byte_of(cookie, i);
}

bool KfiNode::is_filled(std::span<const std::byte> bytes, std::uint64_t cookie) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != byte_of(cookie, i)) return false;
  }
  return true;
}

void KfiNode::on_completions(std::span<const FabricCompletion> burst) {
  for (const FabricCompletion& one : burst) {
    if (one.event == FabricEvent::kMessage) {
      ++messages;
      if (one.buffer_unlinked) to_post_.push_back(static_cast<unsigned>(one.cookie - kOwn));
      const std::uint64_t at = 2 * kBulkPart + (one.cookie - kOwn) * kBufferBytes + one.offset;
      KfiWords words;
      if (one.length != sizeof words || !one.status) {
        ++damaged;
        continue;
      }
      std::memcpy(&words, memory_.data() + at, sizeof words);
      if (words.ask != KfiAsk::kNothing) serve(words);
    } else if (one.event == FabricEvent::kBufferUnlinked) {
      to_post_.push_back(static_cast<unsigned>(one.cookie - kOwn));
    } else if (one.cookie >= kOwn) {
      if (one.event == FabricEvent::kRemoteDone)
        bulk_done(static_cast<unsigned>(one.cookie - kOwn), one.status.has_value());
    } else if (on_end) {
      on_end(one);
    }
  }
}

void KfiNode::on_link(bool usable, std::uint64_t) {
  link_up = usable;
}

// Not from within an upcall: done at the end of the turn.
void KfiNode::serve(const KfiWords& words) {
  if (words.nic == nic()) {  // it comes back
    if (on_words) on_words(words);
    return;
  }
  if (words.ask == KfiAsk::kSpoil) {
    faults_->set({.seed = 1, .drop = words.length / 1e6});
    return;
  }
  owed_.push_back({.words = words});
}

bool KfiNode::pay(const Owed& owed) {
  const KfiWords& words = owed.words;
  const kfilnd::Target to = peer(words.nic);
  if (words.ask == KfiAsk::kEcho || words.ask == KfiAsk::kReport) {
    KfiWords back = words;
    if (words.ask == KfiAsk::kReport) back.tag = static_cast<std::uint32_t>(messages);
    const Result<void> sent = send(to, back, kOwn);
    return sent.has_value() || sent.error() != Errc::kAgain;
  }
  if (free_places_.empty()) return false;
  const unsigned number = free_places_.back();
  Fragment fragment = place(number, std::min(words.length, kBulkMax));
  fragment.at.offset += kBulkPart;
  const lnet::Payload payload{{&fragment, 1}, 0, fragment.length};
  if (words.ask == KfiAsk::kGet && verifies) fill(bytes(fragment), words.cookie);
  const Result<void> begun = words.ask == KfiAsk::kPut
                                 ? endpoint_->read_tagged(to, words.tag, payload, kOwn + number)
                                 : endpoint_->write_tagged(to, words.tag, payload, kOwn + number);
  if (!begun && begun.error() == Errc::kAgain) return false;
  if (!begun) return true;
  asked_[number] = words;
  free_places_.pop_back();
  return true;
}

void KfiNode::bulk_done(unsigned number, bool good) {
  const KfiWords& words = asked_[number];
  if (good && verifies && words.ask == KfiAsk::kPut) {
    Fragment fragment = place(number, std::min(words.length, kBulkMax));
    fragment.at.offset += kBulkPart;
    if (!is_filled(bytes(fragment), words.cookie)) ++damaged;
  }
  free_places_.push_back(number);
}

}  // namespace plnet::bench
