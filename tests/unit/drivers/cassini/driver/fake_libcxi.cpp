// SPDX-License-Identifier: BSD-3-Clause
// A shared object with libcxi's symbols, one device and one object of each kind; it records how it
// was called.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "drivers/net/cassini/libcxi_abi.hpp"

using namespace plnet::cassini::libcxi;

namespace {

std::string said;
int failing = 0;

template <class... Values>
int note(const char* call, Values... values) {
  said = call;
  ((said += ' ' + std::to_string(values)), ...);
  return failing;
}
template <class Object>
int give(Object** out, Object* object) {
  if (failing == 0) *out = object;
  return failing;
}

unsigned devices = 1;
std::uint8_t link_state = 1;
std::uint32_t nic_address = 0x1a2;

DeviceInfo info() {
  DeviceInfo one{};
  one.id = 2;
  one.nic_address = nic_address;
  one.pid_bits = 9;
  one.pid_granule = 256;
  one.min_free_shift = 4;
  std::memcpy(one.device_name, "cxi2", 5);
  std::memcpy(one.description, "sixteen letters!", 16);  // no terminating zero
  one.link_state = link_state;
  one.pct_eq = 7;
  one.version = 0x21;
  one.is_vf = true;
  one.link_mtu = 2112;
  one.link_speed = 200000;
  one.portals = 2048;
  one.list_entries = 16384;
  return one;
}
Device device{};
Lni lni{.id = 3};
Profile profile{.vni_pcp = 255, .traffic_class = 3, .traffic_class_type = 0, .lcid = 9};
Domain domain{};
Mapping mapping{};
EventQueue event_queue{};
CommandQueue command_queue{};
Portal portal{.number = 77};
std::uint64_t state_word, launch_words[512], command_words[512];

}  // namespace

extern "C" {
const char* fake_libcxi_said() {
  return said.c_str();
}
void fake_libcxi_change(unsigned count, unsigned state, std::uint32_t address) {
  devices = count;
  link_state = static_cast<std::uint8_t>(state);
  nic_address = address;
}
void fake_libcxi_fail(int result) {
  failing = result;
}

int cxil_get_device_list(DeviceList** out) {
  if (failing != 0) return failing;
  auto* const list = static_cast<std::byte*>(std::calloc(1, 8 + sizeof(DeviceInfo)));
  const unsigned count = devices;
  const DeviceInfo one = info();
  std::memcpy(list, &count, sizeof count);
  std::memcpy(list + 8, &one, sizeof one);
  *out = reinterpret_cast<DeviceList*>(list);
  return 0;
}
void cxil_free_device_list(DeviceList* list) {
  std::free(list);
}
int cxil_open_device(std::uint32_t id, Device** out) {
  note("open_device", id);
  device.info = info();
  return give(out, &device);
}
void cxil_close_device(Device* /*closed*/) {
  note("close_device");
}
int cxil_alloc_lni(Device* /*of*/, Lni** out, unsigned service) {
  note("alloc_lni", service);
  return give(out, &lni);
}
int cxil_destroy_lni(Lni* one) {
  return note("destroy_lni", one->id);
}
int cxil_alloc_cp(Lni* one, unsigned vni, unsigned tc, unsigned type, Profile** out) {
  note("alloc_cp", one->id, vni, tc, type);
  return give(out, &profile);
}
int cxil_destroy_cp(Profile* one) {
  return note("destroy_cp", one->lcid);
}
int cxil_alloc_domain(Lni* one, unsigned vni, unsigned pid, Domain** out) {
  note("alloc_domain", one->id, vni, pid);
  domain = {.vni = vni, .pid = pid};
  return give(out, &domain);
}
int cxil_destroy_domain(Domain* one) {
  return note("destroy_domain", one->pid);
}
int cxil_map(Lni* one, void* va, std::size_t length, std::uint32_t flags, MapHints* hints,
             Mapping** out) {
  note("map", one->id, length, flags, hints == nullptr);
  mapping.iova = 0x1000'0000;
  mapping.va = reinterpret_cast<std::uintptr_t>(va);
  mapping.length = length;
  mapping.lac = 5;
  return give(out, &mapping);
}
int cxil_unmap(Mapping* one) {
  return note("unmap", static_cast<unsigned>(one->lac));
}
int cxil_alloc_evtq(Lni* one, const Mapping* in, const EventQueueAttributes* attributes,
                    WaitObject* event_wait, WaitObject* status_wait, EventQueue** out) {
  note("alloc_evtq", one->id, static_cast<unsigned>(in->lac), attributes->bytes, attributes->flags,
       attributes->threshold_base, attributes->threshold_count, attributes->combining_delay_ns,
       event_wait == nullptr, status_wait == nullptr);
  event_queue.bytes = static_cast<unsigned>(attributes->bytes);
  event_queue.number = 41;
  event_queue.state_address = &state_word;
  return give(out, &event_queue);
}
int cxil_destroy_evtq(EventQueue* one) {
  return note("destroy_evtq", one->number);
}
int cxil_evtq_adjust_reserved_fc(EventQueue* one, int value) {
  note("evtq_adjust_reserved_fc", one->number, value);
  return failing != 0 ? failing : 64 + value;
}
int cxil_alloc_cmdq(Lni* one, EventQueue* errors, const CommandQueueOptions* options,
                    CommandQueue** out) {
  note("alloc_cmdq", one->id, errors == nullptr, options->slots, options->update_policy,
       options->flags, options->lcid);
  command_queue.units = options->slots * 2;
  command_queue.index = 1024;
  command_queue.commands = reinterpret_cast<std::byte*>(command_words);
  command_queue.write_pointer = launch_words;
  return give(out, &command_queue);
}
int cxil_destroy_cmdq(CommandQueue* one) {
  return note("destroy_cmdq", one->index);
}
int cxil_alloc_pte(Lni* one, EventQueue* events, PortalOptions* options, Portal** out) {
  note("alloc_pte", one->id, events->number, options->flags);
  return give(out, &portal);
}
int cxil_destroy_pte(Portal* one) {
  return note("destroy_pte", one->number);
}
int cxil_map_pte(Portal* one, Domain* in, unsigned index, bool multicast, PortalMap** out) {
  note("map_pte", one->number, in->pid, index, multicast);
  return give(out, reinterpret_cast<PortalMap*>(&portal));
}
int cxil_unmap_pte(PortalMap* one) {
  return note("unmap_pte", reinterpret_cast<Portal*>(one)->number);
}
int cxil_invalidate_pte_le(Portal* one, unsigned buffer_id, unsigned list) {
  return note("invalidate_pte_le", one->number, buffer_id, list);
}
int cxil_pte_status(Portal* one, PortalStatus* status) {
  note("pte_status", one->number);
  *status = {.drop_count = 5, .state = 1, .reserved = 2, .allocated = 3, .maximum = 4};
  return failing;
}
int cxil_pte_transition_sm(Portal* one, unsigned drop_count) {
  return note("pte_transition_sm", one->number, drop_count);
}
}
