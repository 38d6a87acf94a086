// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/page_server.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "lib/runtime/admin/http_request.hpp"

namespace plnet::runtime::page_server_test {
namespace {

using namespace std::chrono_literals;

constexpr std::array kDocuments{PageDocument{"/", "text/html", "<p>hello"}};
constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::string_view kWatch = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";

// A client on the thread of the server.
class Client {
 public:
  Client(EventLoop& loop, std::uint16_t port, std::string_view request, int receive_bytes = 0)
      : loop_(loop), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes > 0)
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ =
        ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    send(request);
  }
  void send(std::string_view text) const {
    (void)::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  [[nodiscard]] bool is_connected() const { return is_connected_; }
  // All that has been sent to it.
  const std::string& text() {
    for (unsigned quiet = 0; quiet < 3;) {
      quiet = loop_.run_once(0ns) > 0 || receive() ? 0 : quiet + 1;
    }
    return text_;
  }
  [[nodiscard]] bool has_ended() {
    (void)text();
    return has_ended_;
  }
  [[nodiscard]] bool has(std::string_view part) { return text().find(part) != std::string::npos; }
  void close() { socket_.reset(); }

 private:
  bool receive() {
    std::array<char, 65536> piece{};
    const ssize_t got = ::recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (got == 0) has_ended_ = true;
    if (got <= 0) return false;
    text_.append(piece.data(), static_cast<std::size_t>(got));
    return true;
  }

  EventLoop& loop_;
  Descriptor socket_;
  std::string text_;
  bool is_connected_ = false;
  bool has_ended_ = false;
};

class PageServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto created = EventLoop::create(clock_);
    ASSERT_TRUE(created) << created.error().what;
    loop_ = std::move(*created);
    server_ = std::make_unique<PageServer>(
        *loop_, PageOptions{.documents = kDocuments,
                            .own_name = "router7",
                            .on_watched = [this](bool is) { watched_.push_back(is); }});
    const auto listening = server_->set_listen("0");
    ASSERT_TRUE(listening) << listening.error().what;
  }
  [[nodiscard]] std::uint16_t port() const {
    const std::string at = server_->address();
    return static_cast<std::uint16_t>(std::stoi(at.substr(at.rfind(':') + 1)));
  }
  Client client(std::string_view request, int receive_bytes = 0) {
    return {*loop_, port(), request, receive_bytes};
  }
  void serve() {
    while (loop_->run_once(0ns) > 0) {
    }
  }

  ManualClock clock_;
  std::unique_ptr<EventLoop> loop_;
  std::vector<bool> watched_;
  std::unique_ptr<PageServer> server_;
};

TEST_F(PageServerTest, APortAloneIsOfLoopback) {
  EXPECT_TRUE(server_->address().starts_with("127.0.0.1:")) << server_->address();
  EXPECT_EQ(parse_page_address("9989").value(), "127.0.0.1:9989");
  EXPECT_EQ(parse_page_address("0.0.0.0:9989").value(), "0.0.0.0:9989");
  for (const char* const bad : {"", "65536", "router7:80", "10.0.0.1", "[::1:80"})
    EXPECT_FALSE(parse_page_address(bad)) << bad;
}

TEST_F(PageServerTest, ServesItsDocumentsAndRefusesTheRest) {
  Client good = client(kGet);
  EXPECT_TRUE(good.text().starts_with("HTTP/1.1 200 OK\r\n")) << good.text();
  EXPECT_TRUE(good.text().ends_with("\r\n\r\n<p>hello"));
  EXPECT_TRUE(good.has("Content-Security-Policy: default-src 'none';"));
  EXPECT_TRUE(good.has_ended());
  EXPECT_TRUE(client("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n").text().ends_with("\r\n\r\n"));
  EXPECT_TRUE(client("GET /x HTTP/1.1\r\nHost: a\r\n\r\n").has(" 421 "));
  EXPECT_TRUE(client("GET /x HTTP/1.1\r\nHost: router7\r\n\r\n").has(" 404 "));
  EXPECT_TRUE(client("POST / HTTP/1.1\r\nHost: router7\r\n\r\n").has("Allow: GET, HEAD\r\n"));
  EXPECT_TRUE(client("\r\n\r\n").has(" 400 "));
  EXPECT_TRUE(client(std::string(kHttpHeadMax + 1, 'x')).has(" 431 "));
  EXPECT_TRUE(
      client("GET /events HTTP/1.1\r\nHost: a.b\r\nSec-Fetch-Site: none\r\n\r\n").has(" 421 "));
  EXPECT_TRUE(client("GET /events HTTP/1.1\r\nHost: router7\r\nSec-Fetch-Site: cross-site\r\n\r\n")
                  .has(" 403 "));
  EXPECT_EQ(server_->watchers(), 0U);
  EXPECT_TRUE(watched_.empty());
}

TEST_F(PageServerTest, ARequestMayComeInPieces) {
  Client slow = client("");
  for (const char letter : kGet) {
    EXPECT_EQ(slow.text(), "");
    slow.send(std::string_view(&letter, 1));
  }
  EXPECT_TRUE(slow.has("<p>hello"));
}

TEST_F(PageServerTest, AllWatchersGetEachEvent) {
  Client first = client(kWatch);
  Client second = client(kWatch);
  EXPECT_TRUE(first.has("Content-Type: text/event-stream\r\n") && second.has("retry: "));
  EXPECT_EQ(watched_, std::vector<bool>{true});
  server_->publish(R"({"n":1})");
  EXPECT_TRUE(first.text().ends_with("data: {\"n\":1}\n\n"));
  EXPECT_TRUE(second.text().ends_with("data: {\"n\":1}\n\n"));
  Client late = client(kWatch);
  EXPECT_TRUE(late.text().ends_with("data: {\"n\":1}\n\n")) << "the last event";
  for (Client* const each : {&first, &second, &late})
    each->close();
  serve();
  EXPECT_EQ(server_->watchers(), 0U);
  EXPECT_EQ(watched_, (std::vector<bool>{true, false}));
  EXPECT_FALSE(client(kWatch).has("data: ")) << "the event of a former time is forgotten";
}

TEST_F(PageServerTest, ThereIsRoomForSoManyWatchers) {
  std::vector<std::unique_ptr<Client>> all;
  for (std::size_t i = 0; i < PageServer::kWatchersMax; ++i) {
    all.push_back(std::make_unique<Client>(*loop_, port(), kWatch));
    serve();
  }
  EXPECT_EQ(server_->watchers(), PageServer::kWatchersMax);
  Client refused = client(kWatch);
  EXPECT_TRUE(refused.has(" 503 ") && refused.has("16 watchers look at this page already"));
  EXPECT_TRUE(client(kGet).has("<p>hello"));
  all.pop_back();
  EXPECT_TRUE(client(kWatch).has(" 200 "));
}

TEST_F(PageServerTest, AWatcherThatDoesNotReadIsDropped) {
  Client slow = client(kWatch, 4096);
  Client good = client(kWatch);
  serve();
  ASSERT_EQ(server_->watchers(), 2U);
  const std::string large(std::size_t{8} << 20, 'x');  // more than the sockets' buffers hold
  for (unsigned i = 0; i <= PageServer::kMissedMax; ++i) {
    server_->publish(large);
    EXPECT_EQ(server_->watchers(), 2U);
    EXPECT_EQ(good.text().substr(good.text().size() - 2), "\n\n");
  }
  server_->publish(large);
  EXPECT_EQ(server_->watchers(), 1U);
  EXPECT_FALSE(good.has_ended());
}

TEST_F(PageServerTest, SlowClientsAreCutOffAndManyAreRefused) {
  std::vector<std::unique_ptr<Client>> all;
  for (std::size_t i = 0; i < PageServer::kConnectionsMax + 8; ++i) {
    all.push_back(std::make_unique<Client>(*loop_, port(), "GET / "));
    serve();
  }
  EXPECT_EQ(server_->connections(), PageServer::kConnectionsMax);
  EXPECT_TRUE(all.back()->has_ended());
  clock_.advance(4s);
  serve();
  EXPECT_EQ(server_->connections(), PageServer::kConnectionsMax);
  clock_.advance(2s);
  serve();
  EXPECT_EQ(server_->connections(), 0U);
  EXPECT_TRUE(client(kGet).has("<p>hello"));
}

TEST_F(PageServerTest, TheAddressMayChange) {
  const std::uint16_t before = port();
  Client watcher = client(kWatch);
  serve();
  const auto refused = server_->set_listen("203.0.113.1:80");  // of no machine
  ASSERT_FALSE(refused);
  EXPECT_TRUE(
      refused.error().what.starts_with("status page address '203.0.113.1:80': cannot listen: "))
      << refused.error().what;
  EXPECT_EQ(port(), before) << "the old one stays";
  EXPECT_EQ(server_->watchers(), 1U);
  ASSERT_TRUE(server_->set_listen(""));
  EXPECT_EQ(server_->address(), "");
  EXPECT_TRUE(watcher.has_ended());
  EXPECT_EQ(watched_, (std::vector<bool>{true, false}));
  EXPECT_FALSE(Client(*loop_, before, kGet).is_connected());
}

}  // namespace
}  // namespace plnet::runtime::page_server_test
