// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/service/console_desk.hpp"

#include <cerrno>
#include <string>

#include "apps/lnet-selftest/lst/console_calls.hpp"
#include "lib/selftest/console/limits.hpp"
#include "node/admin/lnet_pings.hpp"

namespace plnet::apps {

using selftest::TransactionResult;

// One transaction, from the admin thread to shard 0 and back. The console owns it through its
// callback until that is called or dropped.
struct ConsoleDesk::Errand final : node::Homecoming {
  Errand(node::LnetDesk& desk, std::shared_ptr<std::size_t> all, Begin begins, Done tells)
      : lnet_desk(desk),
        under_way(std::move(all)),
        begin(std::move(begins)),
        done(std::move(tells)) {
    ++*under_way;
  }

  void came_home() override {
    const std::unique_ptr<Errand> self(this);
    --*under_way;
    done(std::move(told));
  }
  void send_home_owner(Told<TransactionResult> what) {
    told = std::move(what);
    lnet_desk.send_home_owner(*this);
  }

  node::LnetDesk& lnet_desk;
  std::shared_ptr<std::size_t> under_way;
  Begin begin;
  Done done;
  Told<TransactionResult> told;
};

namespace {

// A console that is destroyed drops its callbacks.
template <class Errand>
class Ticket {
 public:
  explicit Ticket(Errand& errand) : errand_(&errand) {}
  Ticket(Ticket&& other) noexcept : errand_(std::exchange(other.errand_, nullptr)) {}
  Ticket& operator=(Ticket&&) = delete;
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket() {
    if (errand_ != nullptr)
      errand_->send_home_owner(std::unexpected(lst::Refusal{ESHUTDOWN, "LNet went down"}));
  }
  void operator()(std::expected<TransactionResult, lst::Refusal> what) {
    if (errand_ != nullptr) std::exchange(errand_, nullptr)->send_home_owner(std::move(what));
  }

 private:
  Errand* errand_;
};

}  // namespace

lst::Refusal ConsoleDesk::down() {
  return {ENETDOWN, "LNet is down on the node that is the console"};
}

std::optional<lst::Refusal> ConsoleDesk::check_key(const selftest::Console& console,
                                                   std::uint32_t key) {
  const auto session = console.session();
  if (!session || session->key == key) return std::nullopt;
  return lst::Refusal{EACCES, {}};
}

void ConsoleDesk::transact(std::optional<std::uint32_t> key, Begin begin, Done done) {
  static_assert(kUnderWayMax == selftest::kConsoleTransactionsMax);
  static_assert(node::LnetPings::kAllAtATime + kUnderWayMax <= node::LnetDesk::kErrandsMax);
  node::LnetDesk& desk = lnet_.desk();
  if (*under_way_ == kUnderWayMax || !desk.begin_errand())
    return done(std::unexpected(lst::Refusal{EAGAIN, "too many commands are under way"}));
  auto* const errand = new Errand(desk, under_way_, std::move(begin), std::move(done));
  // Set by the shard; the errand may return before this function checks it.
  const auto taken = std::make_shared<bool>(false);
  const auto sent = desk.order(
      0,
      [this, errand, key, taken](lnet::Node& node) {
        selftest::Console* const console = place_.console_owner();
        if (console == nullptr) return;
        *taken = true;
        if (const auto refused = key ? check_key(*console, *key) : std::nullopt)
          return errand->send_home_owner(std::unexpected(*refused));
        // The console keeps the callback only if the transaction begins.
        auto ticket = std::make_shared<Ticket<Errand>>(*errand);
        auto begun = errand->begin(
            *console, node, [ticket](TransactionResult result) { (*ticket)(std::move(result)); });
        if (!begun) (*ticket)(std::unexpected(lst::refusal_of(begun.error())));
      },
      [errand, taken] {
        if (*taken) return;
        errand->lnet_desk.end_errand();
        errand->told = std::unexpected(down());
        errand->came_home();
      });
  if (sent) return;
  desk.end_errand();
  errand->told = std::unexpected(lst::Refusal{EAGAIN, sent.error().what});
  errand->came_home();
}

}  // namespace plnet::apps
