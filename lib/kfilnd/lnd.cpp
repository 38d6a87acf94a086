// SPDX-License-Identifier: BSD-3-Clause
// The contract with the core and the driver, and the turn.
#include "lib/kfilnd/lnd.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::kfilnd {

namespace {

lnet::LndTraits traits_of(const KfiLndConfig& config) {
  return {.name = "kfi",
          .net_type = lnet::NetType::kKfi,
          .places_replies = true,
          .reports_timeouts = true,
          .inline_bytes_max = config.always_bulk ? 0 : kInlineBytesMax,
          .lnd_timeout = lnd_timeout(config.tunables, config.lnet_lnd_timeout)};
}

}  // namespace

KfiLnd::KfiLnd(const KfiLndConfig& config, lnet::LndUpcalls& core, EndpointDriver& driver)
    : environment_(config, core, driver),
      traits_(traits_of(config)),
      store_(environment_),
      transactions_(environment_, cache_, store_),
      cache_(config.peers_max, config.first_session_key, driver),
      peers_(environment_, transactions_, cache_),
      machine_(environment_, transactions_, peers_),
      hellos_(environment_, transactions_, peers_, machine_),
      endings_(environment_, transactions_, peers_, hellos_),
      releases_(environment_, transactions_, machine_),
      initiator_(environment_, transactions_, peers_, hellos_, endings_, releases_, machine_),
      senders_(environment_, transactions_, peers_, hellos_, machine_),
      receives_(environment_, transactions_, peers_, hellos_, senders_, store_, releases_,
                machine_),
      link_(environment_, peers_) {
  machine_.set_parts(initiator_, receives_, hellos_, endings_);
  (void)store_.buffers().post_missing();
}

KfiLnd::~KfiLnd() = default;

// --- The contract with the core ---

std::size_t KfiLnd::send(std::span<lnet::Transmit* const> burst) {
  std::size_t taken = 0;
  for (lnet::Transmit* const transmit : burst) {
    Transaction* const one = transactions_.begin(Quota::kTransmits);
    if (one == nullptr) break;
    one->transmit = transmit;
    transmit->lnd_state = transactions_.index_of(*one);
    transactions_.run_soon(*one);
    ++taken;
  }
  return taken;
}

void KfiLnd::resume(lnet::RxHandle rx, const lnet::RxDecision& decision) {
  PLNET_DEBUG_CHECK(is_sound(decision), "a decision of the core is complete");
  receives_.resume(rx, decision);
}

// A message that has begun ends when the NIC reports its end.
void KfiLnd::cancel(lnet::Transmit& transmit) {
  Transaction& one = transactions_.of_message(transmit);
  if (one.state != TransactionState::kIdle || one.abandoned) return;
  one.abandoned = true;
  one.abandon_cause = Errc::kCancelled;
  transactions_.run_soon(one);
}

void KfiLnd::release_peer(lnet::PeerLink& link) {
  releases_.start(link);
}

void KfiLnd::shut_down() {
  environment_.shutting_down = true;
  store_.buffers().stop();
}

bool KfiLnd::idle() const {
  if (transactions() > 0 || !releases_.empty() || environment_.reported_count > 0 ||
      receives_.has_backlog() || has_mail())
    return false;
  return !environment_.shutting_down || (driver_down_ && environment_.driver.quiet());
}

bool KfiLnd::has_mail() const {
  const ContextEnd* const mail = environment_.config.mail;
  return mail != nullptr && !mail->empty();
}

bool KfiLnd::has_work() const {
  if (transactions_.has_turn() || peers_.has_heard() || releases_.due()) return true;
  if (environment_.shutting_down && !driver_down_) return true;
  if (receives_.has_backlog() && transactions_.has_room(Quota::kReceives)) return true;
  return has_mail() || hellos_.can_send_hello();
}

Instant KfiLnd::next_deadline() const {
  if (has_work()) return Instant::min();
  const Instant next =
      std::min({transactions_.next_deadline(), link_.next_look(), store_.repost_at()});
  return cache_.size() > 0 ? std::min(next, environment_.now + kLookInterval) : next;
}

// --- The contract with the driver ---

void KfiLnd::on_completions(std::span<const FabricCompletion> burst) {
  for (const FabricCompletion& completion : burst) {
    const bool of_buffer = completion.event == FabricEvent::kMessage ||
                           completion.event == FabricEvent::kBufferUnlinked;
    if (of_buffer) {
      receives_.on_buffer(completion);
    } else {
      machine_.on_completion(completion);
    }
  }
  environment_.report();
}

void KfiLnd::on_link(bool usable, std::uint64_t nic_address) {
  link_.on_link(usable, nic_address);
}

// --- The turn ---

unsigned KfiLnd::flush(Instant now) {
  environment_.now = now;
  peers_.stamp_heard();
  link_.look();
  unsigned work = transactions_.run_timers(now);
  store_.repost();
  senders_.start_turn();
  work += machine_.run_blocked();
  work += machine_.run_turn();
  work += senders_.read_mail();
  work += receives_.run_backlog();
  work += hellos_.send_waiting_hellos();
  if (releases_.due()) releases_.serve();
  if (environment_.shutting_down && !driver_down_) shut_driver_down();
  environment_.report();
  return work;
}

void KfiLnd::shut_driver_down() {
  releases_.abandon_all(nullptr);
  driver_down_ = true;
  environment_.driver.shut_down();
}

// --- Reports ---

const Peer* KfiLnd::peer(const lnet::Nid& nid) const {
  return cache_.find(lnet::to_nid64(nid).value);
}

std::optional<PeerFacts> KfiLnd::peer_facts(std::uint32_t slot, Instant now) const {
  const Peer* const peer = slot < cache_.slots() ? cache_.at(slot) : nullptr;
  if (peer == nullptr || peer->removed || peer->guest) return std::nullopt;
  return facts_of(*peer, now);
}

InterfaceFacts KfiLnd::interface_facts() const {
  const KfiLndConfig& config = environment_.config;
  return {
      .prov_major_version = config.tunables.prov_major_version,
      .prov_minor_version = config.tunables.prov_minor_version,
      .auth_key = config.tunables.auth_key,
      .traffic_class = config.traffic_class,
      .traffic_class_num = static_cast<std::uint32_t>(config.traffic_class),
      .timeout = std::chrono::duration_cast<std::chrono::seconds>(environment_.timeout).count()};
}

}  // namespace plnet::kfilnd
