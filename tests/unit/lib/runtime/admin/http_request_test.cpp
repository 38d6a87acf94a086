// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/http_request.hpp"

#include <gtest/gtest.h>

namespace plnet::runtime::http_request_test {
namespace {

TEST(HttpRequest, FindsTheEndOfTheHead) {
  EXPECT_EQ(http_head_length(""), std::nullopt);
  EXPECT_EQ(http_head_length("GET / HTTP/1.1\r\nHost: a\r\n"), std::nullopt);
  EXPECT_EQ(http_head_length("GET / HTTP/1.1\r\n\r\nmore"), 18U);
}

TEST(HttpRequest, ReadsWhatABrowserSends) {
  const auto request = parse_http_request(
      "GET /events?again=1 HTTP/1.1\r\nhOST:  router7:9989 \r\nSec-Fetch-Site: same-origin\r\n"
      "Accept: text/event-stream\r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_FALSE(request->is_head);
  EXPECT_EQ(request->path, "/events");
  EXPECT_EQ(request->host, "router7");
  EXPECT_EQ(request->fetch_site, "same-origin");
  const auto head = parse_http_request("HEAD / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_TRUE(head->is_head);
  EXPECT_EQ(head->host, "[::1]");
  EXPECT_TRUE(parse_http_request("GET / HTTP/1.0\r\n\r\n")) << "Host came with HTTP/1.1";
}

TEST(HttpRequest, RefusesTheRest) {
  const auto status = [](std::string_view head) {
    const auto request = parse_http_request(head);
    return request ? 200 : request.error().status;
  };
  for (const char* const method : {"POST", "PUT", "DELETE", "OPTIONS", "get", "CONNECT"}) {
    EXPECT_EQ(status(std::string(method) + " / HTTP/1.1\r\nHost: a\r\n\r\n"), 405) << method;
  }
  for (const char* const head :
       {"", "\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\nHost: a\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nHost a\r\n\r\n",
        "GET / HTTP/1.1\r\n: a\r\n\r\n"}) {
    EXPECT_EQ(status(head), 400) << head;
  }
}

TEST(HttpRequest, KnowsItsOwnHost) {
  for (const char* const host :
       {"", "localhost", "LocalHost", "127.0.0.1", "10.0.0.7", "[::1]", "router7"})
    EXPECT_TRUE(is_own_host(host, "router7")) << host;
  for (const char* const host : {"router8", "router7.example", "localhost.example", "::1", "[::1",
                                 "127.0.0.1.example", "127.1", "[127.0.0.1]"})
    EXPECT_FALSE(is_own_host(host, "router7")) << host;
}

}  // namespace
}  // namespace plnet::runtime::http_request_test
