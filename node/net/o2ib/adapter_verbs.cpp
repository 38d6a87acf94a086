// SPDX-License-Identifier: BSD-3-Clause
// On libibverbs and librdmacm.
#include <algorithm>

#include <fmt/format.h>

#include "drivers/net/mlx/adapter.hpp"
#include "drivers/net/mlx/device.hpp"
#include "node/net/o2ib/adapter.hpp"

namespace plnet::node {
namespace {

mlx::HandedRequest to_driver(const O2ibRequest& request) {
  mlx::HandedRequest handed{.id = static_cast<rdma_cm_id*>(request.handle),
                            .from = request.from,
                            .to = request.to,
                            .data_bytes = request.data_bytes,
                            .data = request.data};
  return handed;
}

class VerbsQueuePairs final : public O2ibQueuePairs {
 public:
  explicit VerbsQueuePairs(std::unique_ptr<mlx::Device> device) : device_(std::move(device)) {}

  o2iblnd::VerbsDriver& driver() override { return *device_; }
  Pollable& pollable() override { return *device_; }
  std::optional<O2ibRequest> hand_over(o2iblnd::QueuePairId request) override {
    const auto handed = device_->hand_over(request);
    if (!handed) return std::nullopt;
    return O2ibRequest{.handle = handed->id,
                       .from = handed->from,
                       .to = handed->to,
                       .data_bytes = static_cast<std::uint32_t>(handed->data_bytes),
                       .data = handed->data};
  }
  void adopt(const O2ibRequest& request) override { device_->adopt(to_driver(request)); }

 private:
  const std::unique_ptr<mlx::Device> device_;
};

class VerbsAdapter final : public O2ibAdapter {
 public:
  explicit VerbsAdapter(std::unique_ptr<mlx::Adapter> adapter) : adapter_(std::move(adapter)) {}

  Outcome<std::unique_ptr<O2ibQueuePairs>> make(const O2ibPairsConfig& config,
                                                o2iblnd::VerbsEvents& events) override {
    auto device = mlx::Device::open(*adapter_, {.connections_max = config.connections_max}, events);
    if (!device) return std::unexpected(std::move(device.error()));
    return std::make_unique<VerbsQueuePairs>(std::move(*device));
  }
  unsigned poll_events(Instant now) override { return adapter_->desk().poll(now); }
  void discard(const O2ibRequest& request) override { mlx::Device::discard(to_driver(request)); }
  std::string name() const override {
    return fmt::format("{} port {}", adapter_->name(), adapter_->port());
  }
  bool is_gone() const override { return adapter_->is_gone(); }
  void look_at_removal() override { (void)adapter_->release_removed(); }

 private:
  const std::unique_ptr<mlx::Adapter> adapter_;
};

std::string what_to_do(const Error& error) {
  const bool absent = error.code == Errc::kNotFound;
  return error.what + (absent ? "; `modprobe rdma_ucm ib_uverbs` makes /dev/infiniband" : "");
}

}  // namespace

O2ibAdapterOpener verbs_adapter_opener() {
  return [desk = std::shared_ptr<mlx::EventDesk>()](
             std::uint32_t address,
             const ArenaTable& arenas) mutable -> Outcome<std::unique_ptr<O2ibAdapter>> {
    if (desk == nullptr) {
      auto opened = mlx::EventDesk::open();
      if (!opened) return failure(opened.error().code, what_to_do(opened.error()));
      desk = std::move(*opened);
    }
    auto adapter = mlx::Adapter::open(address, arenas, desk);
    if (!adapter) return failure(adapter.error().code, what_to_do(adapter.error()));
    return std::make_unique<VerbsAdapter>(std::move(*adapter));
  };
}

}  // namespace plnet::node
