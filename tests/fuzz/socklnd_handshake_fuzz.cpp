// SPDX-License-Identifier: BSD-3-Clause
// Bytes from an unknown peer to an acceptor: the first byte says how the stream is cut, the rest is
// read as a request and a HELLO. Cuts change nothing, nothing is read past its end, and accepted
// messages encode to the same bytes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/check.hpp"
#include "lib/socklnd/hello_reader.hpp"
#include "lib/socklnd/request_reader.hpp"

namespace {

using namespace plnet;
using namespace plnet::socklnd;

using Bytes = std::span<const std::byte>;

template <class Reader>
std::size_t read_in_pieces(Reader& reader, Bytes bytes, std::size_t piece) {
  std::size_t used = 0;
  while (reader.reading() && used < bytes.size()) {
    const Bytes next = bytes.subspan(used, std::min(piece, bytes.size() - used));
    const std::size_t taken = reader.take(next);
    PLNET_CHECK(taken <= next.size(), "no more is taken than there is");
    PLNET_CHECK(taken == next.size() || !reader.reading(), "less is taken only at the end");
    used += taken;
  }
  return used;
}

template <class Reader>
Reader read_both_ways(Bytes bytes, std::size_t piece, std::size_t& used) {
  Reader whole;
  used = whole.take(bytes);
  Reader cut;
  PLNET_CHECK(read_in_pieces(cut, bytes, piece) == used, "where the stream is cut is all one");
  PLNET_CHECK(cut.state() == whole.state(), "where the stream is cut is all one");
  return whole;
}

void check_hello(Bytes bytes, std::size_t piece) {
  std::size_t used = 0;
  const auto reader = read_both_ways<HelloReader>(bytes, piece, used);
  PLNET_CHECK(used <= kHelloV1Bytes + 4 * kHelloAddressesMax, "a HELLO is short");
  if (reader.state() != HelloReader::State::kDone) return;
  const Hello& hello = reader.hello();
  (void)inverted(hello.type);
  std::array<std::byte, kHelloV4Bytes> out{};
  const auto length = encode_hello(hello, out);
  PLNET_CHECK(length.has_value() == (hello.protocol != Protocol::kV1), "all but V1 can be sent");
  if (!length) return;
  const auto again = decode_hello(std::span(out).first(*length));
  PLNET_CHECK(again.has_value() && *again == hello, "what was read can be sent");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] % 64U;
  const Bytes bytes = std::as_bytes(std::span(data + 1, size - 1));
  std::size_t used = 0;
  const auto request = read_both_ways<RequestReader>(bytes, piece, used);
  PLNET_CHECK(used <= kAcceptorV2Bytes, "a request is short");
  if (request.state() == RequestReader::State::kDone) {
    std::array<std::byte, kAcceptorV2Bytes> out{};
    const std::size_t length = encode_acceptor_request(request.target(), out);
    PLNET_CHECK(decode_acceptor_request(std::span(out).first(length)).has_value(),
                "what was read can be sent");
    check_hello(bytes.subspan(used), piece);
  } else {
    check_hello(bytes, piece);
  }
  return 0;
}
