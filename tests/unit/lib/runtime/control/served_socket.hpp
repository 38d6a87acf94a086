// SPDX-License-Identifier: BSD-3-Clause
// A control server on a socket in its own folder, with verbs that answer at once and later.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "lib/runtime/admin/event_loop.hpp"
#include "lib/runtime/control/server.hpp"

namespace plnet::runtime {

template <class ClockType>
class ServedSocket : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::path(testing::TempDir()) / "plnet_control_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    options_.socket.path = folder_ / "control.sock";
    options_.access.own_uid = ::getuid();
    loop_ = std::move(*EventLoop::create(clock_));
    table_.add({.words = "echo",
                .args = {{.name = "text", .required = true}},
                .access = VerbAccess::kReads},
               [](const nlohmann::json& args, const Caller&) -> VerbReply {
                 return Json{{"text", args["text"]}};
               });
    table_.add({.words = "hand over", .access = VerbAccess::kReads},
               [](const nlohmann::json&, const Caller& caller) -> VerbReply {
                 for (int i = 0; i < 2; ++i) {
                   int ends[2] = {-1, -1};
                   if (::pipe(ends) != 0) return std::unexpected(VerbError{});
                   const Descriptor writing(ends[1]);
                   caller.handed->emplace_back(ends[0]);
                   if (::write(writing.get(), &"ab"[i], 1) != 1)
                     return std::unexpected(VerbError{});
                 }
                 return Json::object();
               });
    table_.add({.words = "later", .access = VerbAccess::kReads},
               [this](const nlohmann::json&, const Caller&, VerbToken token) {
                 tokens_.push_back(std::move(token));
               });
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void start() {
    auto started = ControlServer::start(*loop_, table_, options_);
    ASSERT_TRUE(started) << started.error().what;
    server_ = std::move(*started);
  }

  std::filesystem::path folder_;
  ClockType clock_;
  ServerOptions options_;
  VerbTable table_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<ControlServer> server_;
  std::vector<VerbToken> tokens_;  // of `later`
};

}  // namespace plnet::runtime
