// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/ofi/device.hpp"

#include <cstdlib>
#include <cstring>

#include <rdma/fi_errno.h>

#include "drivers/net/ofi/kept_signals.hpp"

namespace plnet::ofi {

namespace {

template <class Object>
void close_object(Object*& object) {
  if (object != nullptr) (void)fi_close(&object->fid);
  object = nullptr;
}

constexpr const char* kNoAddress = "no provider address for this NIC address and service";

// The capabilities that we need, and the modes that we support.
Info wanted(const DeviceConfig& config) {
  Info hints(fi_allocinfo());
  if (!hints) return hints;
  hints->caps = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_REMOTE_READ;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->addr_format = config.addresses.family == Family::kName ? FI_ADDR_STR : FI_SOCKADDR_IN;
  if (!config.provider.empty()) hints->fabric_attr->prov_name = strdup(config.provider.c_str());
  return hints;
}

}  // namespace

Errc errc_of(int returned) {
  const int number = std::abs(returned);
  // libfabric's own numbers begin behind those of the system.
  if (number == FI_ETRUNC || number == FI_ETOOSMALL) return Errc::kTooBig;
  if (number >= FI_ERRNO_OFFSET) return Errc::kIo;
  // For the LND a refusal comes from a present peer; here no process has listened.
  if (number == FI_ECONNREFUSED) return Errc::kNoRoute;
  return errc_of_errno(number);
}

std::unexpected<Error> fabric_failure(const char* call, int returned) {
  return failure(errc_of(returned), std::string(call) + ": " + fi_strerror(std::abs(returned)));
}

Outcome<std::unique_ptr<Device>> Device::open(const DeviceConfig& config,
                                              const ArenaTable& arenas) {
  std::unique_ptr<Device> made(new Device(config, arenas));
  const Result<Identity> own = made->identity(0, kNoLife);
  if (!own) return failure(own.error(), kNoAddress);
  Outcome<Info> info = made->ask(own->address);
  if (!info) return std::unexpected(std::move(info.error()));
  made->info_ = std::move(*info);
  if (const int failed = fi_fabric(made->info_->fabric_attr, &made->fabric_, nullptr); failed != 0)
    return fabric_failure("fi_fabric", failed);
  return made;
}

Device::~Device() {
  close_object(fabric_);
}

Result<Identity> Device::identity(std::uint8_t context, Life life) const {
  Identity own{.process = {config_.nic_address, config_.service, context},
               .life = life,
               .family = config_.addresses.family,
               .address = {}};
  const Result<ProviderAddress> address = address_of(config_.addresses, own.process, life);
  if (!address) return std::unexpected(address.error());
  own.address = *address;
  return own;
}

Outcome<Info> Device::ask(const ProviderAddress& own) const {
  const Info hints = wanted(config_);
  if (!hints) return failure(Errc::kNoMemory, "fi_allocinfo: out of memory");
  hints->src_addr = std::malloc(own.length);  // fi_freeinfo() frees it
  if (hints->src_addr == nullptr) return failure(Errc::kNoMemory, "out of memory");
  std::memcpy(hints->src_addr, own.bytes.data(), own.length);
  hints->src_addrlen = own.length;
  fi_info* found = nullptr;
  const int failed = fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found);
  if (failed != 0)
    return fabric_failure("fi_getinfo: reliable datagrams with remote reads", failed);
  return Info(found);
}

Outcome<void> Device::open_port(Port& port, std::uint8_t context, Life life, std::size_t tx_events,
                                std::size_t rx_events) const {
  const Result<Identity> own = identity(context, life);
  if (!own) return failure(own.error(), kNoAddress);
  Outcome<Info> info = ask(own->address);
  if (!info) return std::unexpected(std::move(info.error()));
  return port.open(fabric_, std::move(*info), *own, tx_events, rx_events);
}

Outcome<void> Port::open(fid_fabric* fabric, Info the_info, const Identity& own,
                         std::size_t tx_events, std::size_t rx_events) {
  const KeptSignals signals;
  info = std::move(the_info);
  ProviderAddress name = own.address;
  if (own.family == Family::kName) {
    if (const Result<void> taken = claim_.take(own.process, own.life); !taken)
      return failure(taken.error(), std::string(name.bytes.data()) + ": the place cannot be had");
  }
  if (const int failed = fi_domain(fabric, info.get(), &domain, nullptr); failed != 0)
    return fabric_failure("fi_domain", failed);
  if (const int failed = fi_endpoint(domain, info.get(), &endpoint, nullptr); failed != 0)
    return fabric_failure("fi_endpoint", failed);
  // shm adds a number to the name that it was asked for, unless it is set.
  if (own.family == Family::kName) {
    if (const int failed = fi_setname(&endpoint->fid, name.bytes.data(), name.length); failed != 0)
      return fabric_failure("fi_setname", failed);
  }
  if (Outcome<void> opened = open_queues(tx_events, rx_events); !opened) return opened;
  if (const int failed = fi_enable(endpoint); failed != 0)
    return fabric_failure("fi_enable", failed);
  return {};
}

Outcome<void> Port::publish() {
  if (const Result<void> published = claim_.publish(); !published)
    return failure(published.error(), "an endpoint's place in shared memory cannot be locked");
  return {};
}

Outcome<void> Port::open_queues(std::size_t tx_events, std::size_t rx_events) {
  fi_av_attr av{};
  av.type = FI_AV_TABLE;
  if (const int failed = fi_av_open(domain, &av, &addresses, nullptr); failed != 0)
    return fabric_failure("fi_av_open", failed);
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_MSG;
  cq.wait_obj = FI_WAIT_NONE;
  cq.size = tx_events;
  if (const int failed = fi_cq_open(domain, &cq, &tx_queue, nullptr); failed != 0)
    return fabric_failure("fi_cq_open", failed);
  cq.size = rx_events;
  if (const int failed = fi_cq_open(domain, &cq, &rx_queue, nullptr); failed != 0)
    return fabric_failure("fi_cq_open", failed);
  int failed = fi_ep_bind(endpoint, &addresses->fid, 0);
  if (failed == 0) failed = fi_ep_bind(endpoint, &tx_queue->fid, FI_TRANSMIT);
  if (failed == 0) failed = fi_ep_bind(endpoint, &rx_queue->fid, FI_RECV);
  if (failed != 0) return fabric_failure("fi_ep_bind", failed);
  return {};
}

void Port::close_endpoint() {
  claim_.hide();
  close_object(endpoint);
  claim_.release();
}

void Port::close() {
  close_endpoint();
  close_object(tx_queue);
  close_object(rx_queue);
  close_object(addresses);
  close_object(domain);
}

}  // namespace plnet::ofi
