// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/decode/selftest.hpp"

#include "lib/trace/decode/captured.hpp"

namespace plnet::trace {

namespace {

using selftest::MessageType;

// Requests begin with the id of the reply, replies with the status.
constexpr std::size_t kBody = selftest::kHeaderBytes;
static_assert(selftest::offset_of(&selftest::BrwRequest::reply_id) == 0);
static_assert(selftest::offset_of(&selftest::TestRequest::reply_id) == 0);
static_assert(selftest::offset_of(&selftest::BrwReply::status) == 0);
constexpr std::size_t kBulkId = kBody + selftest::offset_of(&selftest::BrwRequest::bulk_id);
static_assert(kBulkId == kBody + selftest::offset_of(&selftest::TestRequest::bulk_id));

}  // namespace

std::optional<SelftestMessage> parse_selftest(std::span<const std::byte> payload,
                                              std::size_t length) {
  if (length != selftest::kMessageBytes) return std::nullopt;
  const auto magic = number_at<std::uint32_t>(payload, 0, false);
  if (magic != selftest::kMagic && magic != std::byteswap(selftest::kMagic)) return std::nullopt;
  const bool swapped = magic != selftest::kMagic;
  const auto type =
      number_at<std::uint32_t>(payload, selftest::offset_of(&selftest::Header::type), swapped);
  if (!type) return std::nullopt;
  SelftestMessage message{.type = *type, .swapped = swapped};
  message.features =
      number_at<std::uint32_t>(payload, selftest::offset_of(&selftest::Header::features), swapped);
  if (message.is_request()) {
    message.reply_id = number_at<std::uint64_t>(payload, kBody, swapped);
    const auto kind = static_cast<MessageType>(*type);
    if (kind == MessageType::kBrwRequest || kind == MessageType::kTestRequest) {
      message.bulk_id = number_at<std::uint64_t>(payload, kBulkId, swapped);
    }
  } else {
    message.status = number_at<std::uint32_t>(payload, kBody, swapped);
  }
  if (const auto whole = selftest::decode_message(payload)) message.whole = *whole;
  return message;
}

}  // namespace plnet::trace
