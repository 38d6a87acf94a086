// SPDX-License-Identifier: BSD-3-Clause
// Both forms of the message header: what is decoded encodes to the same bytes, as far as those mean
// anything.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/check.hpp"
#include "lib/lnet/names/cpt_hash.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/wire/header_codec.hpp"

namespace {

using namespace plnet::lnet;

void use(const Nid& nid) {
  PLNET_CHECK(text_of(nid).size() <= kNidTextMax, "the text of any 20 bytes is short");
  PLNET_CHECK(CptHash(6).of(nid) < 6, "a NID belongs to one of the CPTs");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto nid4 = decode_header_nid4(bytes);
  PLNET_CHECK(nid4.has_value() == (size >= kHeaderNid4Bytes), "only the length can be wrong");
  if (nid4) {
    use(nid4->destination);
    use(nid4->source);
    std::array<std::byte, kHeaderNid4Bytes> out{};
    PLNET_CHECK(encode_header_nid4(*nid4, out).has_value(), "what came short goes short");
    PLNET_CHECK(std::ranges::equal(std::span(out).subspan(16), bytes.subspan(16, out.size() - 16)),
                "all but the NIDs is the same");
    const auto again = decode_header_nid4(out);
    PLNET_CHECK(again->destination == nid4->destination && again->source == nid4->source,
                "a NID survives its 64-bit form");
  }
  const auto nid16 = decode_header_nid16(bytes);
  if (nid16) {
    use(nid16->destination);
    use(nid16->source);
    std::array<std::byte, kHeaderNid16Bytes> out{};
    encode_header_nid16(*nid16, out);
    PLNET_CHECK(std::ranges::equal(out, bytes.first(out.size())), "the long form loses nothing");
    std::array<std::byte, kHeaderNid4Bytes> cut{};
    encode_header_nid4_truncating(*nid16, cut);
  }
  return 0;
}
