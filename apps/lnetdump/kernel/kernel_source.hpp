// SPDX-License-Identifier: BSD-3-Clause
// Messages of the kernel's LNet, by probes on its functions (lnet_probe.bpf.c).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "apps/lnetdump/live_source.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/admin/system_clock.hpp"
#include "lib/trace/file/capture_source.hpp"

namespace plnet::lnetdump {

// The same interface as LiveSource.
class KernelSource {
 public:
  // Requires a successful check_kernel(). `clock`: CLOCK_MONOTONIC.
  [[nodiscard]] static Outcome<KernelSource> open(const LiveOptions& options, const Clock& clock,
                                                  const runtime::WallClock& wall_clock);
  ~KernelSource();
  KernelSource(KernelSource&&) noexcept;
  KernelSource& operator=(KernelSource&&) = delete;

  [[nodiscard]] Outcome<std::size_t> drain(trace::RecordSink& sink, std::size_t records_max);
  // No more messages are captured.
  void end();
  // No descriptor: the kernel does not end a capture.
  [[nodiscard]] int life() const { return -1; }
  [[nodiscard]] std::uint64_t lost() const;

 private:
  struct Parts;
  explicit KernelSource(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace plnet::lnetdump
