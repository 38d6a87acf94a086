// SPDX-License-Identifier: BSD-3-Clause
// The structures that cross libcxi's C interface, as far as the model fills or reads them: sizes
// and offsets as a probe of the public headers found them (libcxi.h, cxi.h, cxi_prov_hw.h; x86-64).
#pragma once

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): names of libcxi's
extern "C" {

struct cxil_devinfo {
  unsigned dev_id;
  unsigned nid;
  unsigned pid_bits;
  unsigned pid_count;
  unsigned pid_granule;
  unsigned min_free_shift;
  unsigned rdzv_get_idx;
  char device_name[14];
  char driver_name[9];
  unsigned vendor_id;
  unsigned device_id;
  unsigned device_rev;
  unsigned device_proto;
  unsigned device_platform;
  std::uint16_t num_ptes;
  std::uint16_t num_txqs;
  std::uint16_t num_tgqs;
  std::uint16_t num_eqs;
  std::uint16_t num_cts;
  std::uint16_t num_acs;
  std::uint16_t num_tles;
  std::uint16_t num_les;
  std::uint16_t pci_domain;
  std::uint8_t pci_bus;
  std::uint8_t pci_device;
  std::uint8_t pci_function;
  std::size_t link_mtu;
  std::size_t link_speed;
  std::uint8_t link_state;
  int uc_nic;
  unsigned pct_eq;
  unsigned cassini_version;
  char fru_description[16];
  bool is_vf;
  unsigned system_type;
};
static_assert(sizeof(cxil_devinfo) == 152 && offsetof(cxil_devinfo, device_name) == 28);
static_assert(offsetof(cxil_devinfo, vendor_id) == 52 && offsetof(cxil_devinfo, num_ptes) == 72);
static_assert(offsetof(cxil_devinfo, num_les) == 86 && offsetof(cxil_devinfo, link_mtu) == 96);
static_assert(offsetof(cxil_devinfo, link_state) == 112 && offsetof(cxil_devinfo, pct_eq) == 120);
static_assert(offsetof(cxil_devinfo, fru_description) == 128 &&
              offsetof(cxil_devinfo, is_vf) == 144);

struct cxil_device_list {
  unsigned count;
  // Then that many cxil_devinfo, at offset 8.
};
inline constexpr std::size_t kDeviceListHead = 8;

struct cxil_dev {
  cxil_devinfo info;
};
struct cxil_lni {
  unsigned id;
};
struct cxil_domain {
  unsigned vni;
  unsigned pid;
};
struct cxil_pte {
  unsigned ptn;
};

struct cxi_cp {
  unsigned vni;
  unsigned tc;
  unsigned tc_type;
  unsigned lcid;
};
static_assert(sizeof(cxi_cp) == 16 && offsetof(cxi_cp, lcid) == 12);

struct cxi_md {
  std::uint64_t iova;
  std::uint64_t va;
  std::size_t len;
  std::uint8_t lac;
  int page_shift;
  int huge_shift;
  unsigned id;
};
static_assert(sizeof(cxi_md) == 40 && offsetof(cxi_md, lac) == 24 && offsetof(cxi_md, id) == 36);

struct cxi_eq_attr {
  void* queue;
  std::size_t queue_len;
  std::uint64_t flags;
  unsigned status_thresh_base;
  unsigned status_thresh_delta;
  unsigned status_thresh_count;
  unsigned ec_delay;
  unsigned cpu_affinity;
  unsigned reserved_slots;
};
static_assert(sizeof(cxi_eq_attr) == 48 && offsetof(cxi_eq_attr, reserved_slots) == 44);

struct cxi_eq {
  unsigned byte_size;
  std::uint64_t sw_state;
  std::uint64_t* sw_state_addr;
  std::uint64_t last_ts_sec;
  std::uint64_t last_ts_ns_low;
  unsigned rd_offset;
  unsigned prev_rd_offset;
  unsigned eqn;
  void* context;
  std::uint8_t* events;
};
static_assert(sizeof(cxi_eq) == 72 && offsetof(cxi_eq, sw_state_addr) == 16);
static_assert(offsetof(cxi_eq, rd_offset) == 40 && offsetof(cxi_eq, eqn) == 48);
static_assert(offsetof(cxi_eq, context) == 56 && offsetof(cxi_eq, events) == 64);

struct cxi_cq_alloc_opts {
  unsigned count;
  unsigned policy;
  unsigned stat_cnt_pool;
  std::uint32_t flags;
  unsigned lcid;
  unsigned lpe_cdt_thresh_id;
};
static_assert(sizeof(cxi_cq_alloc_opts) == 24 && offsetof(cxi_cq_alloc_opts, lcid) == 16);

struct cxi_cq {
  unsigned size;
  std::uint64_t* wp_addr;
  std::uint8_t* ll_64;
  std::uint8_t* ll_128a;
  std::uint8_t* ll_128u;
  std::uint8_t* cmds32;
  std::uint64_t rp32;
  unsigned idx;
  unsigned size32;
  std::uint64_t wp32;
  std::uint64_t hw_wp32;
};
static_assert(sizeof(cxi_cq) == 80 && offsetof(cxi_cq, ll_128u) == 32);
static_assert(offsetof(cxi_cq, cmds32) == 40 && offsetof(cxi_cq, idx) == 56);
static_assert(offsetof(cxi_cq, size32) == 60 && offsetof(cxi_cq, hw_wp32) == 72);

struct cxi_pt_alloc_opts {
  std::uint64_t bits;
};

struct cxi_pte_status {
  std::uint32_t drop_count;
  std::uint8_t state;
  std::uint16_t les_reserved;
  std::uint16_t les_allocated;
  std::uint16_t les_max;
  std::uint64_t* ule_offsets;
  std::uint16_t ule_count;
};
static_assert(sizeof(cxi_pte_status) == 32 && offsetof(cxi_pte_status, les_max) == 10);

struct cxi_limits {
  std::uint16_t max;
  std::uint16_t res;
};
struct cxi_svc_desc {
  std::uint8_t flags;  // bit fields of the header
  std::uint8_t num_vld_vnis;
  std::uint16_t vnis[4];
  bool tcs[5];
  unsigned members[4];
  cxi_limits limits[8];
  unsigned svc_id;
};
static_assert(sizeof(cxi_svc_desc) == 68 && offsetof(cxi_svc_desc, tcs) == 10);
static_assert(offsetof(cxi_svc_desc, members) == 16 && offsetof(cxi_svc_desc, limits) == 32);
static_assert(offsetof(cxi_svc_desc, svc_id) == 64);

struct cxil_svc_list {
  unsigned count;
  // Then that many cxi_svc_desc, at offset 4.
};
inline constexpr std::size_t kServiceListHead = 4;

struct cxi_rsrc_use {
  unsigned svc_id;
  unsigned tle_pool_id;
  std::uint16_t in_use[8];
};
static_assert(sizeof(cxi_rsrc_use) == 24 && offsetof(cxi_rsrc_use, in_use) == 8);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
