// SPDX-License-Identifier: BSD-3-Clause
// Atomic operations: each on its types, and their commands between two NICs.
#include "drivers/net/cassini/soft/atomic.hpp"

#include <complex>
#include <cstring>

#include "tests/unit/drivers/cassini/soft/lenient_rig.hpp"

namespace plnet::cassini::soft::atomic_test {
namespace {

using rigs::Between;
using rigs::head;
using rigs::LenientOnBoth;
using rigs::Slots;
using Compare = AtomicCompare;
using Op = AtomicOperation;
using Type = AtomicType;

template <class Value>
AtomicValue bytes_of(Value value) {
  AtomicValue bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// The value afterwards; the one before must come back.
template <class Value>
Value run(Op operation, Type type, Value value, Value first, Value second = {},
          Compare compare = Compare::kEqual) {
  const AtomicRequest request{.operation = operation,
                              .compare = compare,
                              .type = type,
                              .first = bytes_of(first),
                              .second = bytes_of(second)};
  EXPECT_EQ(check_atomic(request, sizeof(Value)), ReturnCode::kOk);
  EXPECT_EQ(atomic_bytes(type), sizeof(Value));
  Value target = value;
  AtomicValue before{};
  run_atomic(request, reinterpret_cast<std::byte*>(&target), before);
  EXPECT_EQ(before, bytes_of(value));
  return target;
}

// cass_ixe.c: cass_ixe_set_amo_remap_to_pcie_fadd()
TEST(SoftAtomic, OneOperationGoesToTheCpu) {
  Nic nic({.address = 1});
  Tables& tables = nic.tables();
  alignas(8) std::array<std::byte, 8> memory{};
  AtomicValue before{};
  const auto execute = [&](Op operation, Type type, std::uint64_t first, bool fetches = false) {
    const AtomicRequest request{
        .operation = operation, .type = type, .first = bytes_of(first), .second = {}};
    tables.execute(request, fetches, memory.data(), before);
    std::uint64_t value = 0;
    std::memcpy(&value, memory.data(), sizeof value);
    return value;
  };
  EXPECT_EQ(execute(Op::kSwap, Type::kUint64, 40), 40U);
  tables.atomic_remap = static_cast<int>(Op::kSwap);
  EXPECT_EQ(execute(Op::kSwap, Type::kUint64, 2, true), 42U) << "an addition";
  EXPECT_EQ(before, bytes_of<std::uint64_t>(40));
  EXPECT_EQ(execute(Op::kSwap, Type::kUint32, ~0U), 41U) << "wraps around in 32 bits";
  EXPECT_EQ(execute(Op::kSwap, Type::kInt64, 7), 7U) << "signed: by the NIC";
  EXPECT_EQ(execute(Op::kSwap, Type::kUint16, 5), 5U) << "16 bits: by the NIC";
  EXPECT_EQ(execute(Op::kMax, Type::kUint64, 9), 9U) << "another operation";
  tables.atomic_remap = static_cast<int>(Op::kSum);
  EXPECT_EQ(execute(Op::kSum, Type::kInt64, 1, true), 10U);
  EXPECT_EQ(tables.stats.get(NicStats::Id::kAtomicsDone), 7U);
  EXPECT_EQ(tables.stats.get(NicStats::Id::kCpuAtomics), 3U);
  EXPECT_EQ(tables.stats.get(NicStats::Id::kCpuFetchingAtomics), 2U);
}

TEST(SoftAtomic, WholeNumbers) {
  EXPECT_EQ(run<std::int8_t>(Op::kSum, Type::kInt8, 127, 1), -128) << "wraps around";
  EXPECT_EQ(run<std::uint16_t>(Op::kSum, Type::kUint16, 65535, 2), 1);
  EXPECT_EQ(run<std::int32_t>(Op::kMin, Type::kInt32, -1, 1), -1);
  EXPECT_EQ(run<std::uint32_t>(Op::kMin, Type::kUint32, ~0U, 1), 1U);
  EXPECT_EQ(run<std::int64_t>(Op::kMax, Type::kInt64, -1, 1), 1);
  EXPECT_EQ(run<std::uint64_t>(Op::kOr, Type::kUint64, 0xf0, 0x0f), 0xffU);
  EXPECT_EQ(run<std::uint64_t>(Op::kAnd, Type::kUint64, 0xf0, 0x3c), 0x30U);
  EXPECT_EQ(run<std::uint64_t>(Op::kXor, Type::kUint64, 0xf0, 0x3c), 0xccU);
  EXPECT_EQ(run<std::uint8_t>(Op::kLogicalOr, Type::kUint8, 0, 9), 1);
  EXPECT_EQ(run<std::uint8_t>(Op::kLogicalAnd, Type::kUint8, 2, 0), 0);
  EXPECT_EQ(run<std::uint8_t>(Op::kLogicalXor, Type::kUint8, 2, 4), 0);
  EXPECT_EQ(run<std::uint16_t>(Op::kSwap, Type::kUint16, 1, 2), 2);
  EXPECT_EQ(run<std::uint32_t>(Op::kAndXor, Type::kUint32, 0xabcd, 0x0042, 0x00ff), 0xab42U);
}

TEST(SoftAtomic, SwapsWhereTheComparisonHolds) {
  const auto swap = [](std::int32_t value, std::int32_t compared, Compare compare) {
    return run<std::int32_t>(Op::kCompareSwap, Type::kInt32, value, 99, compared, compare);
  };
  EXPECT_EQ(swap(5, 5, Compare::kEqual), 99);
  EXPECT_EQ(swap(5, 6, Compare::kEqual), 5);
  EXPECT_EQ(swap(5, 6, Compare::kNotEqual), 99);
  EXPECT_EQ(swap(5, 4, Compare::kLess), 99) << "4 < 5";
  EXPECT_EQ(swap(5, 5, Compare::kLess), 5);
  EXPECT_EQ(swap(5, 5, Compare::kLessEqual), 99);
  EXPECT_EQ(swap(5, 6, Compare::kGreater), 99);
  EXPECT_EQ(swap(-5, 4, Compare::kGreaterEqual), 99);
  using Wide = std::array<std::uint64_t, 2>;
  EXPECT_EQ(run<Wide>(Op::kCompareSwap, Type::kUint128, {1, 2}, {3, 4}, {1, 2}), (Wide{3, 4}));
}

TEST(SoftAtomic, FractionsAndComplexNumbers) {
  EXPECT_EQ(run<float>(Op::kSum, Type::kFloat, 1.5F, 2.0F), 3.5F);
  EXPECT_EQ(run<double>(Op::kMax, Type::kDouble, 1.5, 2.0), 2.0);
  using Complex = std::complex<float>;
  EXPECT_EQ(run<Complex>(Op::kSum, Type::kFloatComplex, {1, 2}, {3, 4}), (Complex{4, 6}));
}

TEST(SoftAtomic, TypesWithoutTheOperation) {
  const auto code = [](Op operation, Type type, Compare compare = Compare::kEqual) {
    return check_atomic({.operation = operation, .compare = compare, .type = type}, 0);
  };
  EXPECT_EQ(code(Op::kXor, Type::kFloat), ReturnCode::kAtomicInvalid);
  EXPECT_EQ(code(Op::kMin, Type::kDoubleComplex), ReturnCode::kAtomicInvalid);
  EXPECT_EQ(code(Op::kSum, Type::kUint128), ReturnCode::kAtomicInvalid);
  EXPECT_EQ(code(Op::kCompareSwap, Type::kUint128, Compare::kLess), ReturnCode::kAtomicInvalid);
  EXPECT_EQ(code(static_cast<Op>(3), Type::kUint64), ReturnCode::kAtomicInvalid);
  EXPECT_EQ(code(Op::kSum, static_cast<Type>(13)), ReturnCode::kAtomicInvalid);
  EXPECT_EQ(check_atomic({.operation = Op::kSum, .type = Type::kUint64}, 4),
            ReturnCode::kAtomicMisaligned);
}

struct SoftAtomicCommands : LenientOnBoth {
  SoftAtomicCommands() : LenientOnBoth(PortalRequest{.matching = false}) {
    b.append(b.arena.data(), 4096, 1, 0,
             [](std::byte* at) { layout::Target::UseOnce::set(at, 0); });
    value(0) = 40;
  }
  std::uint64_t& value(unsigned number) {
    return reinterpret_cast<std::uint64_t*>(b.arena.data())[number];
  }
  std::uint64_t& local(unsigned number) {
    return reinterpret_cast<std::uint64_t*>(a.arena.data())[number];
  }
  // The operand is local(0), the result goes to local(1).
  template <class Change>
  void dma(DmaOpcode opcode, Change change) {
    Slots slot;
    using Dma = layout::DmaAtomic;
    head(slot.data(), CommandType::kDma, 2, opcode);
    address<Dma>(slot.data(), 0);
    Dma::Lac::set(slot.data(), a.lac());
    Dma::WriteLac::set(slot.data(), a.lac());
    Dma::EventSendDisable::set(slot.data(), 1);
    Dma::Restricted::set(slot.data(), 1);
    Dma::ReadAddr::set(slot.data(), a.iova(a.arena.data()));
    Dma::WriteAddr::set(slot.data(), a.iova(a.arena.data() + 8));
    Dma::RequestLen::set(slot.data(), 8);
    Dma::Eq::set(slot.data(), a.eq);
    Dma::Initiator::set(slot.data(), a.id());
    Dma::UserPtr::set(slot.data(), 5);
    Dma::AtomicOp::set(slot.data(), static_cast<unsigned>(Op::kSum));
    Dma::AtomicKind::set(slot.data(), static_cast<unsigned>(Type::kUint64));
    change(slot.data());
    a.tx.push(slot.data(), 2);
    a.tx.ring();
  }
  void dma(DmaOpcode opcode) {
    dma(opcode, [](std::byte*) {});
  }
};

TEST_P(SoftAtomicCommands, SumAndFetch) {
  local(0) = 2;
  dma(DmaOpcode::kAtomic);
  EXPECT_EQ(a.expect(EventType::kAck).get<layout::InitiatorShort::UserPtr>(), 5U);
  EXPECT_EQ(value(0), 42U);
  EXPECT_EQ(local(1), 0U);
  (void)b.expect(EventType::kAtomic);
  dma(DmaOpcode::kFetchingAtomic);
  (void)a.expect(EventType::kReply);
  EXPECT_EQ(value(0), 44U);
  EXPECT_EQ(local(1), 42U);
  (void)b.expect(EventType::kFetchAtomic);
}

TEST_P(SoftAtomicCommands, ErrorsLeaveTheValue) {
  local(0) = 2;
  dma(DmaOpcode::kAtomic, [](std::byte* at) { layout::DmaAtomic::RemoteOffset::set(at, 4); });
  (void)a.expect(EventType::kAck, ReturnCode::kAtomicMisaligned);
  dma(DmaOpcode::kAtomic, [](std::byte* at) { layout::DmaAtomic::AtomicOp::set(at, 3); });
  (void)a.expect(EventType::kAck, ReturnCode::kAtomicInvalid);
  dma(DmaOpcode::kAtomic, [](std::byte* at) { layout::DmaAtomic::RemoteOffset::set(at, 4096); });
  (void)a.expect(EventType::kAck, ReturnCode::kNoSpace);
  dma(DmaOpcode::kFetchingAtomic, [](std::byte* at) { layout::DmaAtomic::WriteAddr::set(at, 64); });
  (void)a.expect(EventType::kReply, ReturnCode::kNoTranslation);
  dma(DmaOpcode::kAtomic, [](std::byte* at) { layout::DmaAtomic::ReadAddr::set(at, 64); });
  (void)a.expect(EventType::kAck, ReturnCode::kNoTranslation);
  EXPECT_EQ(value(0), 40U);
}

TEST_P(SoftAtomicCommands, OperandsInTheCommand) {
  set_state(true);
  Slots small;
  head(small.data(), CommandType::kIdc, 0, DmaOpcode::kAtomic);
  layout::SmallAtomic::Length::set(small.data(), 32);
  address<layout::SmallAtomic>(small.data(), 0);
  layout::SmallAtomic::AtomicOp::set(small.data(), static_cast<unsigned>(Op::kSum));
  layout::SmallAtomic::AtomicKind::set(small.data(), static_cast<unsigned>(Type::kUint64));
  layout::SmallAtomic::FirstLow::set(small.data(), 3);
  a.tx.push(small.data(), 0);
  a.tx.ring();
  (void)a.expect(EventType::kAck);
  EXPECT_EQ(value(0), 43U);

  Slots large;
  using Large = layout::IdcAtomic;
  head(large.data(), CommandType::kIdc, 1, DmaOpcode::kFetchingAtomic);
  Large::Length::set(large.data(), 64);
  address<Large>(large.data(), 0);
  Large::LocalAddr::set(large.data(), a.iova(a.arena.data() + 8));
  Large::AtomicOp::set(large.data(), static_cast<unsigned>(Op::kCompareSwap));
  Large::AtomicKind::set(large.data(), static_cast<unsigned>(Type::kUint64));
  Large::FirstLow::set(large.data(), 77);
  Large::SecondLow::set(large.data(), 43);
  a.tx.push(large.data(), 1);
  a.tx.ring();
  (void)a.expect(EventType::kReply);
  EXPECT_EQ(value(0), 77U);
  EXPECT_EQ(local(1), 43U);
}

INSTANTIATE_TEST_SUITE_P(Joined, SoftAtomicCommands, testing::Values(Between::kNothing));
INSTANTIATE_TEST_SUITE_P(Wired, SoftAtomicCommands, testing::Values(Between::kWire));

}  // namespace
}  // namespace plnet::cassini::soft::atomic_test
