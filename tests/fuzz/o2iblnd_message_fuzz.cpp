// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a message of a peer on an established connection: a message that is understood
// encodes to the same bytes, in either byte order, and nothing is read past its end. The first
// byte chooses which fields are put right.
#include <algorithm>
#include <cstring>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/o2iblnd/wire.hpp"

namespace plnet::o2iblnd {
namespace {

void put_right(std::vector<std::byte>& bytes, std::uint8_t choice) {
  if (bytes.size() < kCommonBytes) return;
  CommonWire common;
  std::memcpy(&common, bytes.data(), sizeof common);
  const bool swapped = (choice & 1U) != 0;
  const auto ordered = [swapped](auto value) { return swapped ? std::byteswap(value) : value; };
  common.magic = ordered(kMagic);
  common.version = ordered((choice & 2U) != 0 ? kVersion1 : kVersion2);
  common.checksum = 0;
  common.type = static_cast<std::uint8_t>(0xd0U + (common.type & 7U));
  if ((choice & 4U) != 0) common.nob = ordered(static_cast<std::uint32_t>(bytes.size()));
  std::memcpy(bytes.data(), &common, sizeof common);
}

void check_message(std::span<const std::uint8_t> data) {
  if (data.empty()) return;
  const std::uint8_t choice = data[0];
  const auto given = std::as_bytes(data.subspan(1));
  std::vector<std::byte> bytes(given.begin(), given.end());
  if ((choice & 0x80U) == 0) put_right(bytes, choice);
  Message message;
  if (decode(bytes, message)) return;
  PLNET_CHECK(message.nob <= bytes.size(), "no message is longer than what came");
  if (message.nob > kMessageBytes) return;
  const std::uint32_t payload =
      message.kind == Kind::kImmediate ? message.nob - std::uint32_t{kImmediateBytes} : 0;
  std::vector<std::byte> again(kMessageBytes);
  const std::size_t head = encode(message, payload, again);
  PLNET_CHECK(head + payload <= message.nob, "a message is as long as it needs to be");
  if (payload > 0)
    std::copy_n(bytes.begin() + kImmediateBytes, payload, again.begin() + kImmediateBytes);
  again.resize(head + payload);
  set_checksum(again, (choice & 8U) != 0 ? CharSign::kSigned : CharSign::kUnsigned);
  Message second;
  PLNET_CHECK(!decode(again, second), "what was read can be sent");
  PLNET_CHECK(second.kind == message.kind && second.cookie == message.cookie &&
                  second.sink_cookie == message.sink_cookie && second.status == message.status &&
                  second.credits == message.credits && second.source_nid == message.source_nid &&
                  second.parameters == message.parameters &&
                  second.buffer.key == message.buffer.key &&
                  second.buffer.fragments.count() == message.buffer.fragments.count() &&
                  second.buffer.fragments.total() == message.buffer.fragments.total(),
              "and is the same");
}

}  // namespace
}  // namespace plnet::o2iblnd

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plnet::o2iblnd::check_message({data, size});
  return 0;
}
