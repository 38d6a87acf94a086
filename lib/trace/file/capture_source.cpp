// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/file/capture_source.hpp"

#include <algorithm>
#include <string_view>

#include "lib/lnet/wire/header_codec.hpp"
#include "lib/trace/file/record_comment.hpp"

namespace plnet::trace {

void CaptureSource::add(const Packet& packet) {
  direction_ = packet.direction;
  const LinkContent content = dissect(packet);
  if (const auto* const segment = std::get_if<TcpSegment>(&content)) {
    on_segment(*segment, packet);
  } else if (const auto* const datagram = std::get_if<UdpDatagram>(&content)) {
    if (datagram->flow.to_port == kRocePort) roce_.add(*datagram, packet.time_ns);
  } else if (const auto* const pdu = std::get_if<UpperPdu>(&content)) {
    if (pdu->port == options_.port) on_pdu(*pdu, packet);
  }
}

void CaptureSource::on_segment(const TcpSegment& segment, const Packet& packet) {
  if (segment.flow.from_port != options_.port && segment.flow.to_port != options_.port) return;
  auto found = connections_.find(segment.flow);
  if (found == connections_.end()) {
    if (connections_.size() == kFlowsMax) {
      ++refused_;
      return;
    }
    found = connections_
                .emplace(segment.flow, std::make_unique<Connection>(static_cast<FramedSink&>(*this),
                                                                    options_.snap_bytes))
                .first;
  }
  Connection& connection = *found->second;
  connection.stream.add(segment, packet.time_ns, connection.messages);
}

void CaptureSource::finish() {
  for (auto& [flow, connection] : connections_)
    connection->stream.finish(connection->messages);
}

std::uint64_t CaptureSource::losses() const {
  std::uint64_t sum = refused_;
  for (const auto& [flow, connection] : connections_)
    sum += connection->messages.losses();
  return sum;
}

void CaptureSource::on_message(const FramedMessage& message) {
  Record record;
  set_header(message.header, record.header);
  record.header.time_ns = message.time_ns;
  record.header.captured = static_cast<std::uint32_t>(message.payload.size());
  record.payload = message.payload;
  const bool sent =
      options_.local.empty() ||
      std::ranges::find(options_.local, message.header.source) != options_.local.end();
  record.header.direction = direction_.value_or(sent ? Direction::kSent : Direction::kReceived);
  const bool from_hop = record.header.direction == Direction::kReceived;
  record.header.hop = from_hop ? message.header.source : message.header.destination;
  if (from_hop && message.hop.type != 0) record.header.hop = message.hop;
  sink_.on_record(record, {});
}

// A record of ours: socklnd's frame, an LNet header, payload; the rest in the comment.
void CaptureSource::on_pdu(const UpperPdu& pdu, const Packet& packet) {
  if (pdu.bytes.size() < socklnd::kFrameBytes) return;
  const auto bytes = pdu.bytes.subspan(socklnd::kFrameBytes);
  const auto header = lnet::decode_header_nid4(bytes);
  if (!header) return;
  Record record;
  set_header(*header, record.header);
  record.header.time_ns = packet.time_ns;
  record.header.direction = packet.direction.value_or(Direction::kSent);
  record.payload = bytes.subspan(lnet::kHeaderNid4Bytes);
  record.payload =
      record.payload.first(std::min<std::size_t>(record.payload.size(), header->payload_length));
  record.header.captured = static_cast<std::uint32_t>(record.payload.size());
  record.header.hop =
      record.header.direction == Direction::kReceived ? header->source : header->destination;
  apply_comment(packet.comment, record.header, nids_);
  sink_.on_record(record, nids_.find(packet.interface).value_or(lnet::Nid{}));
}

}  // namespace plnet::trace
