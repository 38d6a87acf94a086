// SPDX-License-Identifier: BSD-3-Clause
#include "apps/selftest/console_desk.hpp"

#include <cerrno>
#include <string>

#include "apps/lst/console_calls.hpp"

namespace plnet::apps {

using selftest::TransactionResult;

// One transaction, from the admin thread to shard 0 and back. It is the console's, by way of what
// it calls when done, until that is called or dropped.
struct ConsoleDesk::Errand final : Homecoming {
  Errand(LnetDesk& desk, Begin begins, Done tells)
      : lnet_desk(desk), begin(std::move(begins)), done(std::move(tells)) {}

  void came_home() override {
    const std::unique_ptr<Errand> self(this);
    done(std::move(told));
  }
  void send_home_owner(Told<TransactionResult> what) {
    told = std::move(what);
    lnet_desk.send_home_owner(*this);
  }

  LnetDesk& lnet_desk;
  Begin begin;
  Done done;
  Told<TransactionResult> told;
};

namespace {

// A console that goes drops what it would have called.
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
  LnetDesk& desk = lnet_.desk();
  if (!desk.begin_errand())
    return done(std::unexpected(lst::Refusal{EAGAIN, "too many commands are under way"}));
  auto* const errand = new Errand(desk, std::move(begin), std::move(done));
  // By the shard, from where it may come home before anybody here looks.
  const auto taken = std::make_shared<bool>(false);
  const auto sent = desk.order(
      0,
      [this, errand, key, taken](lnet::Node& node) {
        selftest::Console* const console = place_.console_owner();
        if (console == nullptr) return;
        *taken = true;
        if (const auto refused = key ? check_key(*console, *key) : std::nullopt)
          return errand->send_home_owner(std::unexpected(*refused));
        // The console keeps what it is to call only if it begins.
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
