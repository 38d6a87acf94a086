// SPDX-License-Identifier: BSD-3-Clause
// Libfabric objects that keep packets and reads until the test ends them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "drivers/net/ofi/device.hpp"
#include "drivers/net/ofi/wire.hpp"

namespace plnet::ofi {

class KeptWire {
 public:
  KeptWire() {
    fid_ops_.close = [](fid*) { return 0; };
    message_ops_.recv = [](fid_ep*, void*, std::size_t, void*, fi_addr_t, void*) -> ssize_t {
      return 0;
    };
    message_ops_.send = [](fid_ep* at, const void* bytes, std::size_t length, void*, fi_addr_t,
                           void* context) { return of(at).take(bytes, length, context); };
    message_ops_.inject = [](fid_ep* at, const void* bytes, std::size_t length, fi_addr_t) {
      return of(at).take(bytes, length, nullptr);
    };
    rma_ops_.read = [](fid_ep* at, void*, std::size_t, void*, fi_addr_t, std::uint64_t,
                       std::uint64_t, void* context) { return of(at).take(nullptr, 0, context); };
    memory_ops_.reg = [](fid* at, const void*, std::size_t, std::uint64_t, std::uint64_t,
                         std::uint64_t key, std::uint64_t, fid_mr** made, void*) {
      return static_cast<Domain*>(reinterpret_cast<fid_domain*>(at))->wire->add(key, made);
    };
    address_ops_.insert = [](fid_av*, const void*, std::size_t, fi_addr_t* made, std::uint64_t,
                             void*) {
      *made = 1;
      return 1;
    };
    address_ops_.remove = [](fid_av*, fi_addr_t*, std::size_t, std::uint64_t) { return 0; };
    queue_ops_.read = [](fid_cq* at, void* entries, std::size_t count) {
      return static_cast<Queue*>(at)->wire->tell(static_cast<fi_cq_msg_entry*>(entries), count);
    };
    queue_ops_.readerr = [](fid_cq* at, fi_cq_err_entry* entry, std::uint64_t) -> ssize_t {
      return static_cast<Queue*>(at)->wire->tell_failed(*entry);
    };
    endpoint_.msg = &message_ops_;
    endpoint_.rma = &rma_ops_;
    domain_.mr = &memory_ops_;
    addresses_.ops = &address_ops_;
    queue_.ops = &queue_ops_;
    port.info.reset(fi_allocinfo());
    port.info->addr_format = FI_SOCKADDR_IN;
    port.domain = &domain_;
    port.endpoint = &endpoint_;
    port.addresses = &addresses_;
    port.tx_queue = &queue_;
  }
  // The objects are not libfabric's: the port must not close them.
  ~KeptWire() {
    port.domain = nullptr;
    port.endpoint = nullptr;
    port.addresses = nullptr;
    port.tx_queue = nullptr;
  }
  KeptWire(const KeptWire&) = delete;
  KeptWire& operator=(const KeptWire&) = delete;

  // Ends one of the packets and reads under way.
  void end(std::size_t which, bool well) {
    if (under_way.empty()) return;
    const auto at = under_way.begin() + static_cast<std::ptrdiff_t>(which % under_way.size());
    (well ? done_ : failed_).push_back(*at);
    under_way.erase(at);
  }

  Port port;
  bool is_full = false;
  std::vector<void*> under_way;
  std::deque<std::uint64_t> names;  // names of operations and buffers in sent packets

 private:
  struct Endpoint : fid_ep {
    KeptWire* wire = nullptr;
  };
  struct Domain : fid_domain {
    KeptWire* wire = nullptr;
  };
  struct Queue : fid_cq {
    KeptWire* wire = nullptr;
  };
  static KeptWire& of(fid_ep* endpoint) { return *static_cast<Endpoint*>(endpoint)->wire; }

  ssize_t take(const void* bytes, std::size_t length, void* context) {
    if (is_full) return -FI_EAGAIN;
    const std::span sent(static_cast<const std::byte*>(bytes), length);
    const auto header = decode_header(sent);
    if (header && header->kind == PacketKind::kMessage)
      note(wire_detail::get<std::uint64_t>(sent.data() + PacketHeader::kBytes));
    for (std::size_t i = 0; header && i < header->records; ++i) {
      const auto record = decode_record(sent.data() + PacketHeader::kBytes + i * Record::kBytes);
      if (!record) continue;
      note(record->operation);
      note(record->other);
    }
    if (context != nullptr) under_way.push_back(context);
    return 0;
  }
  void note(std::uint64_t name) {
    names.push_back(name);
    if (names.size() > 16) names.pop_front();
  }
  int add(std::uint64_t key, fid_mr** made) {
    fid_mr& region = regions_.emplace_back();
    region.fid.ops = &fid_ops_;
    region.key = key;
    *made = &region;
    return 0;
  }
  ssize_t tell(fi_cq_msg_entry* entries, std::size_t count) {
    if (done_.empty()) return failed_.empty() ? -FI_EAGAIN : -FI_EAVAIL;
    const std::size_t told = std::min(count, done_.size());
    for (std::size_t i = 0; i < told; ++i)
      entries[i] = {.op_context = done_[i], .flags = 0, .len = 0};
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(told));
    return static_cast<ssize_t>(told);
  }
  ssize_t tell_failed(fi_cq_err_entry& entry) {
    if (failed_.empty()) return -FI_EAGAIN;
    entry.op_context = failed_.back();
    entry.err = FI_EIO;
    failed_.pop_back();
    return 1;
  }

  fi_ops fid_ops_{};
  fi_ops_msg message_ops_{};
  fi_ops_rma rma_ops_{};
  fi_ops_mr memory_ops_{};
  fi_ops_av address_ops_{};
  fi_ops_cq queue_ops_{};
  Endpoint endpoint_{{}, this};
  Domain domain_{{}, this};
  fid_av addresses_{};
  Queue queue_{{}, this};
  std::deque<fid_mr> regions_;
  std::vector<void*> done_, failed_;
};

}  // namespace plnet::ofi
