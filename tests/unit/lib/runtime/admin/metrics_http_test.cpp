// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/metrics_http.hpp"

#include <array>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "lib/runtime/admin/descriptor.hpp"

namespace plnet::runtime {
namespace {

#define ONE_COUNTER(X) X(kTurns, "turns", "turns", kCount, "Turns of the loop")
PLNET_COUNTERS(OneTable, ONE_COUNTER);

// The response to a request, or "" without a listener.
std::string ask(int port, std::string_view request) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return {};
  }
  if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return {};
  std::string reply;
  std::array<char, 4096> piece{};
  while (true) {
    const auto got = ::recv(socket.get(), piece.data(), piece.size(), 0);
    if (got <= 0) return reply;
    reply.append(piece.data(), static_cast<std::size_t>(got));
  }
}

TEST(MetricsHttp, ServesMetricsAndNothingElseAndCanBeSwitchedOff) {
  Counters<OneTable> counters;
  Metrics metrics;
  metrics.add("poller", {{"shard", "0"}}, counters.view());
  MetricsHttp http(metrics);
  EXPECT_EQ(http.port(), 0);
  const auto listening = http.set_listen("127.0.0.1:0");
  ASSERT_TRUE(listening) << listening.error().what;
  const int port = http.port();
  ASSERT_GT(port, 0);

  counters.add(OneTable::Id::kTurns, 42);
  const std::string good = ask(port, "GET /metrics HTTP/1.0\r\n\r\n");
  EXPECT_NE(good.find("200 OK"), std::string::npos) << good;
  EXPECT_NE(good.find("plnet_poller_turns_total{shard=\"0\"} 42"), std::string::npos) << good;
  EXPECT_NE(ask(port, "GET / HTTP/1.0\r\n\r\n").find(" 404 "), std::string::npos);
  const std::string posted = ask(port, "POST /metrics HTTP/1.0\r\nContent-Length: 0\r\n\r\n");
  EXPECT_NE(posted.find(" 404 "), std::string::npos) << posted;
  EXPECT_EQ(posted.find("plnet_"), std::string::npos) << posted;

  ASSERT_TRUE(http.set_listen(""));
  EXPECT_EQ(http.port(), 0);
  EXPECT_EQ(ask(port, "GET /metrics HTTP/1.0\r\n\r\n"), "");
}

TEST(MetricsHttp, AnAddressThatCannotBeBoundLeavesTheOldOne) {
  const Metrics metrics;
  MetricsHttp http(metrics);
  ASSERT_TRUE(http.set_listen("127.0.0.1:0"));
  const int port = http.port();
  EXPECT_FALSE(http.set_listen("nonsense"));
  const auto refused = http.set_listen("192.0.2.1:9100");
  ASSERT_FALSE(refused) << "a documentation address is not ours";
  EXPECT_NE(refused.error().what.find("192.0.2.1:9100"), std::string::npos);
  EXPECT_EQ(http.listen(), "127.0.0.1:0");
  EXPECT_EQ(http.port(), port);
}

TEST(MetricsHttp, MovesToAnotherAddressOfItsPort) {
  const Metrics metrics;
  MetricsHttp http(metrics);
  ASSERT_TRUE(http.set_listen("127.0.0.1:0"));
  const int port = http.port();
  const std::string everywhere = "0.0.0.0:" + std::to_string(port);
  ASSERT_TRUE(http.set_listen(everywhere)) << "only we were in the way";
  EXPECT_EQ(http.port(), port);
  EXPECT_NE(ask(port, "GET /metrics HTTP/1.0\r\n\r\n"), "");
  ASSERT_FALSE(http.set_listen("192.0.2.1:" + std::to_string(port)));
  EXPECT_EQ(http.listen(), everywhere);
  EXPECT_NE(ask(port, "GET /metrics HTTP/1.0\r\n\r\n"), "");
}

TEST(ListenAddress, IsAnAddressAndAPort) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:9100").value(), (ListenAddress{"127.0.0.1", 9100}));
  EXPECT_EQ(parse_listen_address("[::1]:65535").value(), (ListenAddress{"::1", 65535}));
  for (const char* text : {"", ":", "9100", ":9100", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                           "127.0.0.1:-1", "127.0.0.1:9100s", "::1:9100", "[127.0.0.1]:1",
                           "localhost:9100", "127.0.0.1:1,127.0.0.1:2", "127.1:80"}) {
    const auto refused = parse_listen_address(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().what.find("expected ADDRESS:PORT"), std::string::npos);
  }
}

}  // namespace
}  // namespace plnet::runtime
