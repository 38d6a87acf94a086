// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/lib/lnet/control/fake_network.hpp"

#include <algorithm>

#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::lnet {

Duration FakeNetwork::delay() {
  if (delay_max == Duration{}) return {};
  return Duration(random_.below(static_cast<std::uint64_t>(delay_max.count())));
}

void FakeNetwork::send(const FakeMessage& message) {
  log.push_back(message);
  if (random_.chance(loss)) return;
  later([this, message] {
    const auto owner = owners_.find(key(message.target));
    if (owner != owners_.end()) owner->second->on_message(message);
  });
}

void FakeNetwork::run_to(Instant when) {
  while (!calls_.empty() && calls_.begin()->first <= when) {
    now_ = std::max(now_, calls_.begin()->first);
    auto call = std::move(calls_.begin()->second);
    calls_.erase(calls_.begin());
    call();
  }
  now_ = std::max(now_, when);
}

MdHandle FakeOperations::make(const MdSpec& spec, bool passive) {
  PLNET_CHECK(spec.fragments.size() == 1 && spec.fragments[0].length == spec.length,
              "one piece is enough here");
  const std::uint32_t index = next_++;
  mds_[index] = {.spec = spec, .passive = passive, .threshold = spec.threshold};
  return {.index = index, .generation = 1, .shard = 0};
}

Result<Attached> FakeOperations::attach(const MeSpec& /*me*/, const MdSpec& md) {
  if (mds_.size() >= mds_max) return std::unexpected(Errc::kNoMemory);
  const MdHandle handle = make(md, true);
  if ((md.options & kMdPut) != 0 && !delayed_.empty()) {
    const FakeMessage first = delayed_.front();
    delayed_.pop_front();
    network_.later([this, first] { on_message(first); });
  }
  return Attached{.me = {handle.index, 1, 0}, .md = handle};
}

Result<MdHandle> FakeOperations::bind(const MdSpec& md) {
  if (mds_.size() >= mds_max) return std::unexpected(Errc::kNoMemory);
  return make(md, false);
}

FakeOperations::Md* FakeOperations::find(MdHandle handle) {
  const auto at = mds_.find(handle.index);
  return at == mds_.end() ? nullptr : &at->second;
}

std::span<std::byte> FakeOperations::bytes_of(const Md& md) {
  return std::span(memory).subspan(md.spec.fragments[0].at.offset, md.spec.length);
}

Result<void> FakeOperations::unlink(MdHandle handle) {
  Md* md = find(handle);
  if (md == nullptr || md->aborted) return std::unexpected(Errc::kNotFound);
  md->aborted = true;
  if (md->pending == 0) tell(handle.index, {.kind = EventKind::kUnlink});
  return {};
}

Result<void> FakeOperations::unlink(MeHandle me) {
  return unlink(MdHandle{me.index, 1, 0});
}

std::optional<Nid> FakeOperations::source_for(const Nid& wanted, const Nid& target) const {
  for (const Nid& nid : nids) {
    if (wanted.is_any() ? nid.net() == target.net() : nid == wanted) return nid;
  }
  return std::nullopt;
}

// Delivers an event, and ends the MD with its last one.
void FakeOperations::tell(std::uint32_t index, Event event) {
  const auto at = mds_.find(index);
  PLNET_CHECK(at != mds_.end(), "events are of MDs that there are");
  Md& md = at->second;
  const bool exhausted = md.spec.unlink_when_exhausted && md.threshold == 0;
  event.unlinked = md.pending == 0 && (md.aborted || exhausted);
  event.md = {index, 1, 0};
  event.user = md.spec.user;
  event.md_options = md.spec.options;
  EventHandler* handler = md.spec.handler;
  if (event.unlinked) mds_.erase(at);
  if (handler != nullptr) handler->on_event(event);
}

Result<void> FakeOperations::start(MdHandle handle, FakeMessage message, const Nid& from) {
  Md* md = find(handle);
  PLNET_CHECK(md != nullptr && !md->passive && md->threshold != 0, "an MD that can be used");
  const auto source = source_for(from, message.target);
  if (!source) return std::unexpected(Errc::kNoRoute);
  if (messages_left == 0) return std::unexpected(Errc::kNoMemory);
  --messages_left;
  message.source = *source;
  message.origin = handle;
  if (md->threshold > 0) --md->threshold;
  ++md->pending;
  const bool unreachable = network_.connect_time > Duration{} && !network_.is_owned(message.target);
  const bool fails = network_.random().chance(network_.send_failure) || unreachable;
  const auto sent_event = [this, handle, type = message.type, target = message.target, fails] {
    Md* sent = find(handle);
    --sent->pending;
    Event event{.kind = EventKind::kSend, .message_type = type, .target = {target, kLustrePid}};
    if (fails) event.status = std::unexpected(Errc::kIo);
    tell(handle.index, event);
  };
  if (fails && network_.connect_time > Duration{}) {
    network_.at(network_.now() + network_.connect_time, sent_event);
  } else {
    network_.later(sent_event);
  }
  if (!fails) network_.send(message);
  network_.at(network_.now() + network_.response_timeout, [this, handle] { (void)unlink(handle); });
  return {};
}

Result<void> FakeOperations::put(MdHandle handle, const PutSpec& put) {
  const auto bytes = bytes_of(*find(handle));
  return start(handle,
               {.type = MessageType::kPut,
                .target = put.target.nid,
                .length = static_cast<std::uint32_t>(bytes.size()),
                .payload = {bytes.begin(), bytes.end()},
                .match_bits = put.match_bits,
                .portal = put.portal},
               put.from);
}

Result<void> FakeOperations::get(MdHandle handle, const GetSpec& get) {
  return start(handle,
               {.type = MessageType::kGet,
                .target = get.target.nid,
                .length = find(handle)->spec.length,
                .match_bits = get.match_bits,
                .portal = get.portal},
               get.from);
}

bool FakeOperations::match(const FakeMessage& message) {
  const std::uint32_t wanted = message.type == MessageType::kPut ? kMdPut : kMdGet;
  PLNET_CHECK(message.portal == kPingPortal && message.match_bits == kPingMatchBits,
              "discovery uses one portal and its bits");
  for (auto& [index, md] : mds_) {
    if (!md.passive || md.aborted || (md.spec.options & wanted) == 0 || md.threshold == 0) continue;
    const std::uint32_t length = std::min(message.length, md.spec.length);
    const auto bytes = bytes_of(md);
    if (md.threshold > 0) --md.threshold;
    FakeMessage back{.source = message.target, .target = message.source, .origin = message.origin};
    Event event{.kind = wanted == kMdPut ? EventKind::kPut : EventKind::kGet,
                .target = {message.target, kLustrePid},
                .source = {message.source, kLustrePid},
                .sender = message.sender,
                .requested_length = message.length,
                .accepted_length = length};
    if (message.type == MessageType::kPut) {
      std::copy_n(message.payload.begin(), length, bytes.begin());
      back.type = MessageType::kAck;
      back.length = length;
    } else {
      back.type = MessageType::kReply;
      back.payload.assign(bytes.begin(), bytes.begin() + length);
    }
    network_.send(back);
    tell(index, event);
    return true;
  }
  return false;
}

void FakeOperations::answer(const FakeMessage& message) {
  Md* md = find(message.origin);
  if (md == nullptr || md->aborted) return;
  if (md->threshold > 0) --md->threshold;
  const auto bytes = bytes_of(*md);
  const bool reply = message.type == MessageType::kReply;
  const std::size_t length = std::min(message.payload.size(), bytes.size());
  std::copy_n(message.payload.begin(), length, bytes.begin());
  tell(message.origin.index,
       {.kind = reply ? EventKind::kReply : EventKind::kAck,
        .message_type = message.type,
        .target = {message.target, kLustrePid},
        .source = {message.source, kLustrePid},
        .requested_length = static_cast<std::uint32_t>(length),
        .accepted_length = reply ? static_cast<std::uint32_t>(length) : message.length});
}

void FakeOperations::on_message(const FakeMessage& message) {
  if (know_sender && !know_sender(message.source)) return;
  if (message.type == MessageType::kReply || message.type == MessageType::kAck)
    return answer(message);
  if (!match(message) && message.type == MessageType::kPut) delayed_.push_back(message);
}

}  // namespace plnet::lnet
