// SPDX-License-Identifier: BSD-3-Clause
// The symbols that libcxi.so.1 shows: those of the vendor's library by their versions
// (shs-libcxi: libcxi.sym), and no others. A program that was linked with the one runs with the
// other.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

namespace plnet::cassini::libcxi::libcxi_symbols_test {
namespace {

struct Version {
  const char* name;
  std::vector<const char*> symbols;
};

const std::vector<Version>& versions() {
  static const std::vector<Version> kAll{
      {"LIBCXI_1.0",
       {"cxil_alloc_cmdq",
        "cxil_alloc_cp",
        "cxil_alloc_ct",
        "cxil_alloc_domain",
        "cxil_alloc_evtq",
        "cxil_alloc_lni",
        "cxil_alloc_pte",
        "cxil_alloc_svc",
        "cxil_alloc_wait_obj",
        "cxil_clear_wait_obj",
        "cxil_close_device",
        "cxil_cmdq_ack_counter",
        "cxil_ct_wb_update",
        "cxil_destroy_cmdq",
        "cxil_destroy_cp",
        "cxil_destroy_ct",
        "cxil_destroy_domain",
        "cxil_destroy_evtq",
        "cxil_destroy_lni",
        "cxil_destroy_pte",
        "cxil_destroy_svc",
        "cxil_destroy_wait_obj",
        "cxil_evtq_adjust_reserved_fc",
        "cxil_evtq_resize",
        "cxil_evtq_resize_complete",
        "cxil_free_device_list",
        "cxil_free_svc_list",
        "cxil_get_device_list",
        "cxil_get_svc_list",
        "cxil_get_telemetry",
        "cxil_get_telemetry_refresh_interval",
        "cxil_get_wait_obj_fd",
        "cxil_invalidate_pte_le",
        "cxil_map",
        "cxil_map_csr",
        "cxil_map_pte",
        "cxil_open_device",
        "cxil_pte_status",
        "cxil_read_all_cntrs",
        "cxil_read_cntr",
        "cxil_read_csr",
        "cxil_read_n_cntrs",
        "cxil_read_n_cntrs_with_hdr",
        "cxil_release_cntr_pool_id",
        "cxil_reserve_cntr_pool_id",
        "cxil_reserve_domain",
        "cxil_sbus_op",
        "cxil_sbus_op_compat",
        "cxil_sbus_op_reset",
        "cxil_sbus_op_reset_compat",
        "cxil_serdes_op",
        "cxil_set_telemetry_refresh_interval",
        "cxil_unmap",
        "cxil_unmap_pte",
        "cxil_write8_csr",
        "cxil_write_csr"}},
      {"LIBCXI_1.1", {"cxil_inbound_wait"}},
      {"LIBCXI_1.2", {"cxil_get_svc", "cxil_update_svc"}},
      {"LIBCXI_1.3", {"cxil_get_amo_remap_to_pcie_fadd"}},
      {"LIBCXI_1.4", {"cxil_pte_transition_sm"}},
      {"LIBCXI_1.5",
       {"cxil_free_svc_rsrc_list", "cxil_get_svc_rsrc_list", "cxil_get_svc_rsrc_use"}},
      {"LIBCXI_1.6", {"cxil_is_copy_on_fork", "cxil_page_size"}},
      {"LIBCXI_1.7", {"cxil_update_md"}},
      {"LIBCXI_1.8", {"cxil_get_svc_lpr", "cxil_set_svc_lpr"}},
      {"LIBCXI_1.9",
       {"cxil_alloc_trig_cp", "cxil_modify_cp", "cxil_svc_enable", "cxil_svc_get_exclusive_cp",
        "cxil_svc_get_vni_range", "cxil_svc_set_exclusive_cp", "cxil_svc_set_vni_range"}},
      {"LIBCXI_1.10", {"cxil_svc_get_netns", "cxil_svc_set_netns"}},
      {"LIBCXI_1.11", {"cxil_alloc_buf_cmdq"}},
  };
  return kAll;
}

// The dynamic section of a shared object of this machine.
class Image {
 public:
  explicit Image(const char* path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    const auto header = read<Elf64_Ehdr>(0);
    for (unsigned i = 0; i < header.e_shnum; ++i)
      sections_.push_back(read<Elf64_Shdr>(header.e_shoff + std::size_t{i} * header.e_shentsize));
  }
  // Defined here and visible from outside.
  [[nodiscard]] std::set<std::string> symbols() const {
    std::set<std::string> found;
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_DYNSYM) continue;
      for (std::size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = read<Elf64_Sym>(section.sh_offset + at);
        const bool is_ours = symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS;
        if (is_ours && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL)
          found.insert(text(section, symbol.st_name));
      }
    }
    return found;
  }
  [[nodiscard]] std::string name() const {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_DYNAMIC) continue;
      for (std::size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Dyn)) {
        const auto entry = read<Elf64_Dyn>(section.sh_offset + at);
        if (entry.d_tag == DT_SONAME) return text(section, entry.d_un.d_val);
      }
    }
    return {};
  }

 private:
  template <class Record>
  [[nodiscard]] Record read(std::size_t at) const {
    Record record{};
    EXPECT_LE(at + sizeof record, bytes_.size());
    if (at + sizeof record <= bytes_.size())
      std::memcpy(&record, bytes_.data() + at, sizeof record);
    return record;
  }
  [[nodiscard]] std::string text(const Elf64_Shdr& section, std::size_t at) const {
    return bytes_.data() + sections_.at(section.sh_link).sh_offset + at;
  }

  std::vector<char> bytes_;
  std::vector<Elf64_Shdr> sections_;
};

TEST(LibcxiSymbols, AreTheVendorsAndNoOthers) {
  std::set<std::string> wanted;
  for (const Version& version : versions())
    wanted.insert(version.symbols.begin(), version.symbols.end());
  EXPECT_EQ(wanted.size(), 79U);
  const Image image(PLNET_CXI_SOFT);
  EXPECT_EQ(image.symbols(), wanted);
  EXPECT_EQ(image.name(), "libcxi.so.1");
}

TEST(LibcxiSymbols, HaveTheirVersions) {
  void* const library = dlopen(PLNET_CXI_SOFT, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  for (const Version& version : versions())
    for (const char* const symbol : version.symbols)
      EXPECT_NE(dlvsym(library, symbol, version.name), nullptr) << symbol << " " << version.name;
  (void)dlclose(library);
}

}  // namespace
}  // namespace plnet::cassini::libcxi::libcxi_symbols_test
