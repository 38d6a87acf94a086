// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/file/roce_stream.hpp"

#include <algorithm>

#include "lib/o2iblnd/wire.hpp"
#include "lib/trace/decode/captured.hpp"

namespace plnet::trace {

namespace {

constexpr std::size_t kBth = 12;
constexpr std::size_t kImmediate = 4;
constexpr std::size_t kChecksum = 4;  // ICRC

enum SendOpcode : std::uint8_t {
  kFirst = 0,
  kMiddle = 1,
  kLast = 2,
  kLastImmediate = 3,
  kOnly = 4,
  kOnlyImmediate = 5,
};

using o2iblnd::Kind;

constexpr std::size_t kTypeAt = offsetof(o2iblnd::CommonWire, type);
constexpr std::size_t kLengthAt = offsetof(o2iblnd::CommonWire, nob);
constexpr std::size_t kHeaderAt = o2iblnd::kCommonBytes;      // or a completion
constexpr std::size_t kPayloadAt = o2iblnd::kImmediateBytes;  // or a cookie
constexpr std::size_t kStatusAt = kHeaderAt + offsetof(o2iblnd::CompletionWire, status);
static_assert(offsetof(o2iblnd::CompletionWire, cookie) == 0);
static_assert(RoceStreams::kMessageBytesMax == o2iblnd::kMessageBytes);

}  // namespace

void RoceStreams::add(const UdpDatagram& datagram, std::uint64_t time_ns) {
  const Bytes all = datagram.bytes;
  if (all.size() < kBth + kChecksum) return;
  const auto opcode = std::to_integer<std::uint8_t>(all[0]);
  if (opcode > kOnlyImmediate) return;  // only reliable connections
  const std::size_t padding = (std::to_integer<std::size_t>(all[1]) >> 4U) & 3U;
  const bool immediate = opcode == kLastImmediate || opcode == kOnlyImmediate;
  const std::size_t begin = kBth + (immediate ? kImmediate : 0);
  const std::size_t end =
      datagram.length - std::min<std::size_t>(datagram.length, padding + kChecksum);
  if (end < begin || begin > all.size()) return;
  const Bytes data = all.subspan(begin, std::min(end, all.size()) - begin);
  if (opcode == kOnly || opcode == kOnlyImmediate) return on_send(data, datagram, time_ns);

  const QueuePair pair{datagram.flow.from, datagram.flow.to,
                       number_at<std::uint32_t>(all, 4, true).value_or(0) & 0xffffffU};
  if (opcode == kFirst) {
    if (partial_.size() == kQueuePairsMax) partial_.erase(partial_.begin());
    const Bytes kept = data.first(std::min(data.size(), kMessageBytesMax));
    partial_[pair] = {{kept.begin(), kept.end()}, time_ns};
    return;
  }
  const auto found = partial_.find(pair);
  if (found == partial_.end()) return;
  auto& bytes = found->second.bytes;
  const Bytes kept = data.first(std::min(data.size(), kMessageBytesMax - bytes.size()));
  bytes.insert(bytes.end(), kept.begin(), kept.end());
  if (opcode == kMiddle) return;
  on_send(bytes, datagram, found->second.time_ns);
  partial_.erase(found);
}

void RoceStreams::on_send(Bytes message, const UdpDatagram& datagram, std::uint64_t time_ns) {
  message = message.first(std::min(message.size(), kMessageBytesMax));
  const auto magic = number_at<std::uint32_t>(message, 0, false);
  if (magic != o2iblnd::kMagic && magic != std::byteswap(o2iblnd::kMagic)) return;
  const bool swapped = magic != o2iblnd::kMagic;
  const auto length = number_at<std::uint32_t>(message, kLengthAt, swapped);
  if (!length || message.size() <= kTypeAt) return;
  message = message.first(std::min<std::size_t>(message.size(), *length));
  if (message.size() <= kHeaderAt) return;
  const auto type = static_cast<Kind>(message[kTypeAt]);
  if (type == Kind::kGetDone) return on_get_done(message, swapped, datagram, time_ns);
  if (type != Kind::kImmediate && type != Kind::kPutRequest && type != Kind::kGetRequest) return;
  const auto header = lnet::decode_header_nid4(message.subspan(kHeaderAt));
  if (!header || header->payload_length > lnet::kPayloadBytesMax) return;
  FramedMessage framed{.header = *header, .time_ns = time_ns};
  if (type == Kind::kImmediate && message.size() > kPayloadAt) {
    framed.payload = message.subspan(kPayloadAt);
    framed.payload =
        framed.payload.first(std::min<std::size_t>(framed.payload.size(), header->payload_length));
  }
  sink_.on_message(framed);
  const auto cookie = number_at<std::uint64_t>(message, kPayloadAt, false);
  if (type != Kind::kGetRequest || !cookie) return;
  if (gets_.size() == kGetsMax) gets_.erase(gets_.begin());
  gets_[{datagram.flow.from, *cookie}] = *header;
}

void RoceStreams::on_get_done(Bytes message, bool swapped, const UdpDatagram& datagram,
                              std::uint64_t time_ns) {
  const auto cookie = number_at<std::uint64_t>(message, kHeaderAt, false);
  const auto status = number_at<std::int32_t>(message, kStatusAt, swapped);
  if (!cookie || !status) return;
  const auto found = gets_.find({datagram.flow.to, *cookie});
  if (found == gets_.end()) return;
  const lnet::MessageHeader get = found->second;
  gets_.erase(found);
  if (*status < 0) return;
  lnet::MessageHeader reply{.destination = get.source,
                            .source = get.destination,
                            .destination_pid = get.source_pid,
                            .source_pid = get.destination_pid,
                            .type = lnet::MessageType::kReply,
                            .payload_length = static_cast<std::uint32_t>(*status)};
  reply.set_area(lnet::ReplyArea{.destination = get.area<lnet::GetArea>().return_handle});
  sink_.on_message({.header = reply, .time_ns = time_ns});
}

}  // namespace plnet::trace
