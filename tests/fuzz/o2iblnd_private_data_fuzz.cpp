// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as private data of the connection manager: a request, an answer or a rejection. What is
// taken stays within our limits, and what is refused is answered by a rejection that can be read.
#include <cstring>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/o2iblnd/negotiation.hpp"

namespace plnet::o2iblnd {
namespace {

constexpr Identity kSelf{.nid = 0x0005'0000'0a00'0002, .incarnation = 77};
constexpr Offer kAsked{.queue_depth = 8};

void put_right(std::vector<std::byte>& bytes, Kind kind) {
  if (bytes.size() < kCommonBytes) return;
  CommonWire common;
  std::memcpy(&common, bytes.data(), sizeof common);
  common.magic = kMagic;
  common.version = (common.version & 1U) != 0 ? kVersion1 : kVersion2;
  common.type = static_cast<std::uint8_t>(kind);
  common.nob = kConnectBytes;
  common.checksum = 0;
  common.destination_nid = kSelf.nid;
  common.destination_stamp = kind == Kind::kConnectAck ? kSelf.incarnation : 0;
  std::memcpy(bytes.data(), &common, sizeof common);
}

void check_request(std::span<const std::byte> data) {
  const Tunables tunables{.peer_credits = 32};
  Message message;
  const auto judged = judge_request(data, 1023, kSelf, tunables, message);
  if (judged) {
    PLNET_CHECK(message.parameters.queue_depth > 0 && message.parameters.queue_depth <= 32 &&
                    message.parameters.max_frags <= kFragmentsMax,
                "what is taken stays within our limits");
    return;
  }
  const auto reject = decode_reject(encode(rejection(judged.error(), message, kSelf, tunables)));
  PLNET_CHECK(reject && reject->why == judged.error(), "a rejection says why");
}

void check_ack(std::span<const std::byte> data) {
  Message message;
  if (!judge_ack(data, kAsked, kSelf, message)) return;
  PLNET_CHECK(
      message.parameters.queue_depth <= kAsked.queue_depth && message.parameters.queue_depth > 0,
      "no more is granted than was asked for");
}

void check_reject(std::span<const std::byte> data) {
  const Retry retry = judge_reject(RejectKind::kByPeer, data, kAsked);
  PLNET_CHECK(!retry.queue_depth || *retry.queue_depth < kAsked.queue_depth,
              "a retry asks for less");
  PLNET_CHECK(!retry.max_frags || *retry.max_frags < kAsked.max_frags, "a retry asks for less");
  PLNET_CHECK(!retry.again || retry.version == kVersion1 || retry.version == kVersion2,
              "a retry is of a version that we speak");
}

}  // namespace
}  // namespace plnet::o2iblnd

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plnet::o2iblnd;
  if (size == 0) return 0;
  const auto given = std::as_bytes(std::span(data, size).subspan(1));
  std::vector<std::byte> bytes(given.begin(), given.end());
  const bool raw = (data[0] & 0x80U) != 0;
  if ((data[0] & 3U) == 0) {
    if (!raw) put_right(bytes, Kind::kConnectRequest);
    check_request(bytes);
  } else if ((data[0] & 3U) == 1) {
    if (!raw) put_right(bytes, Kind::kConnectAck);
    check_ack(bytes);
  } else {
    check_reject(bytes);
  }
  return 0;
}
