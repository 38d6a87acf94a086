// SPDX-License-Identifier: BSD-3-Clause
#include "node/run/status_page.hpp"

#include <array>
#include <span>
#include <string>
#include <utility>

#include <unistd.h>

#include "node/admin/lnet_admin.hpp"
#include "node/run/node.hpp"
#include "node/run/node_report.hpp"
#include "node/watch/page/page_files.hpp"
#include "node/watch/recent_lines.hpp"

namespace plnet::node {
namespace {

std::span<const runtime::PageDocument> page_documents() {
  static const std::array all{
      runtime::PageDocument{"/", "text/html; charset=utf-8", kPageHtml},
      runtime::PageDocument{"/page.css", "text/css; charset=utf-8", kPageCss},
      runtime::PageDocument{"/page.js", "text/javascript; charset=utf-8", kPageJs}};
  return all;
}

std::string own_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data())
                                                          : std::string();
}

}  // namespace

StatusPage::StatusPage(Node& node, const RecentLines& lines)
    : node_(node),
      lines_(lines),
      server_(node.loop(), {.documents = page_documents(),
                            .own_name = own_host_name(),
                            .on_watched = [this](bool is_watched) { set_watched(is_watched); }}) {}

StatusPage::~StatusPage() {
  *self_ = nullptr;
  (void)server_.set_listen("");
}

void StatusPage::set_watched(bool is_watched) {
  node_.loop().cancel_timer(std::exchange(timer_, runtime::EventLoop::TimerId::kNone));
  looks_ = 0;
  load_ = nullptr;
  if (is_watched) timer_ = node_.loop().add_timer(Duration::zero(), kPeriod, [this] { look(); });
}

void StatusPage::look() {
  if (looks_++ % kLoadPeriods == 0) ask_load();
  if (std::exchange(asking_, true)) return;
  ask_standing(node_.lnet(), node_.loop(), [self = self_](LnetStanding standing) {
    if (*self == nullptr) return;
    (*self)->asking_ = false;
    (*self)->publish(std::move(standing));
  });
}

void StatusPage::ask_load() {
  if (std::exchange(asking_load_, true)) return;
  node_.lnet().load([self = self_](Outcome<lnet::LoadSnapshot>&& snapshot) {
    if (*self == nullptr) return;
    (*self)->asking_load_ = false;
    (*self)->load_ = snapshot ? page_load(*snapshot) : runtime::Json();
  });
}

void StatusPage::publish(LnetStanding standing) {
  if (server_.watchers() == 0) return;
  PageFacts facts{.status = {},
                  .nets = standing.nets,
                  .routes = standing.routes,
                  .routing = standing.routing,
                  .load = load_,
                  .lines = lines_.latest()};
  facts.status = std::move(report_status(node_, std::move(standing))["status"]);
  // Texts of peers and of the system may be of any bytes.
  server_.publish(page_snapshot(std::move(facts))
                      .dump(-1, ' ', false, runtime::Json::error_handler_t::replace));
}

}  // namespace plnet::node
