// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid64.hpp"
#include "lib/socklnd/hello_reader.hpp"
#include "lib/socklnd/request_reader.hpp"
#include "tests/unit/lib/lnet/vectors.hpp"

namespace plnet::socklnd {
namespace {

namespace vectors = lnet::vectors;
using vectors::Bytes;

Bytes named(std::string_view name) {
  for (const auto& vector : vectors::all()) {
    if (vectors::name(vector) == name) return vectors::bytes_of(vector);
  }
  ADD_FAILURE() << "no such vector: " << name;
  return {};
}

// Feeds the bytes in pieces of a size, with more behind them. Returns the number taken.
template <class Reader>
std::size_t feed(Reader& reader, const Bytes& bytes, std::size_t piece) {
  std::size_t used = 0;
  while (used < bytes.size() && reader.reading()) {
    const std::size_t count = std::min(piece, bytes.size() - used);
    const std::size_t taken = reader.take(std::span(bytes).subspan(used, count));
    used += taken;
    if (taken < count) break;
  }
  return used;
}

TEST(SocklndReaders, ARequestIsTakenExactlyHoweverTheStreamIsCut) {
  for (const char* const stream :
       {"stream/v3-active-control-then-ping", "stream/v4-active-control-then-ping"}) {
    const Bytes bytes = named(stream);
    const bool large = std::string_view(stream).find("v4") != std::string_view::npos;
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      RequestReader request;
      const std::size_t used = feed(request, bytes, piece);
      ASSERT_EQ(request.state(), RequestReader::State::kDone);
      ASSERT_EQ(used, large ? kAcceptorV2Bytes : kAcceptorV1Bytes);
      HelloReader hello;
      const Bytes rest(bytes.begin() + static_cast<std::ptrdiff_t>(used), bytes.end());
      ASSERT_EQ(feed(hello, rest, piece), large ? kHelloV4Bytes : kHelloNid4Bytes);
      ASSERT_EQ(hello.state(), HelloReader::State::kDone);
      EXPECT_EQ(hello.hello().type, 1);
      EXPECT_EQ(hello.hello().destination, request.target());
      EXPECT_EQ(hello.hello().source_pid, lnet::kLustrePid);
    }
  }
}

TEST(SocklndReaders, TheListOfAddressesIsReadAndIgnored) {
  Bytes bytes = named("ksock_hello_nid4.ips/real/v3-two-ips");
  bytes.push_back(std::byte{0x99});
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    HelloReader reader;
    EXPECT_EQ(feed(reader, bytes, piece), kHelloNid4Bytes + 8);
    EXPECT_EQ(reader.state(), HelloReader::State::kDone);
  }
}

TEST(SocklndReaders, SixteenAddressesAreTheMostAndNoneMayBeZero) {
  Bytes bytes = named("ksock_hello_nid4/real/v3-control");
  bytes[52] = std::byte{16};
  bytes.resize(kHelloNid4Bytes + 64, std::byte{7});
  HelloReader sixteen;
  EXPECT_EQ(sixteen.take(bytes), bytes.size());
  EXPECT_EQ(sixteen.state(), HelloReader::State::kDone);
  std::fill_n(bytes.begin() + kHelloNid4Bytes + 40, 4, std::byte{0});
  HelloReader zero;
  EXPECT_EQ(zero.take(bytes), bytes.size());
  EXPECT_EQ(zero.state(), HelloReader::State::kBadAddress);
  bytes[52] = std::byte{17};
  HelloReader seventeen;
  EXPECT_EQ(seventeen.take(bytes), kHelloNid4Bytes);
  EXPECT_EQ(seventeen.state(), HelloReader::State::kTooManyAddresses);
}

TEST(SocklndReaders, V4HasNoListForAnyCount) {
  Bytes bytes = named("ksock_hello_v4/real/v4-control");
  bytes[76] = std::byte{200};
  HelloReader reader;
  EXPECT_EQ(reader.take(bytes), bytes.size());
  EXPECT_EQ(reader.state(), HelloReader::State::kDone);
}

TEST(SocklndReaders, V1IsReadToItsEnd) {
  Bytes bytes = named("ksock_hello_v1/real/control");
  HelloReader reader;
  EXPECT_EQ(reader.take(bytes), kHelloV1Bytes);
  ASSERT_EQ(reader.state(), HelloReader::State::kDone);
  EXPECT_EQ(reader.hello().protocol, Protocol::kV1);
  bytes[24] = std::byte{1};  // a PUT
  HelloReader put;
  EXPECT_EQ(put.take(bytes), kHelloV1Bytes);
  EXPECT_EQ(put.state(), HelloReader::State::kNotHello);
}

TEST(SocklndReaders, InvalidRequestsAreDetectedByTheirFirstBytes) {
  const auto state = [](const char* hex) {
    RequestReader reader;
    const Bytes bytes = vectors::from_hex(hex);
    reader.take(bytes);
    return reader.state();
  };
  EXPECT_EQ(state("63697245"), RequestReader::State::kNoRequest);
  EXPECT_EQ(state("45726963"), RequestReader::State::kNoRequest);
  EXPECT_EQ(state("ed0dbcee"), RequestReader::State::kLegacy);
  EXPECT_EQ(state("47455420"), RequestReader::State::kUnknownMagic);
  EXPECT_EQ(state("0071ceac03000000"), RequestReader::State::kUnknownVersion);
  EXPECT_EQ(state("acce710000000002"), RequestReader::State::kNid);
  EXPECT_EQ(state("0071ce"), RequestReader::State::kMagic);
}

TEST(SocklndReaders, AHelloOfAnUnknownVersionDiffersFromGarbage) {
  const auto state = [](const char* hex) {
    HelloReader reader;
    reader.take(vectors::from_hex(hex));
    return reader.state();
  };
  EXPECT_EQ(state("6369724505000000"), HelloReader::State::kUnknownVersion);
  EXPECT_EQ(state("ed0dbcee02000000"), HelloReader::State::kUnknownVersion);
  EXPECT_EQ(state("0071ceac"), HelloReader::State::kUnknownMagic);
  EXPECT_EQ(state("6369724503000000"), HelloReader::State::kRest);
}

}  // namespace
}  // namespace plnet::socklnd
