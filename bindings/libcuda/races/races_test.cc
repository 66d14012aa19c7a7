#include <gtest/gtest.h>

#include "bindings/libcuda/races/overlap.h"
#include "bindings/libcuda/races/work_order.h"

namespace gpuemu::libcuda {
namespace {

constexpr Line kDefault{0, kLegacy}, kOne{0, 16}, kTwo{0, 17}, kThree{0, 18};

TEST(WorkOrder, OrdersWithinAStreamAndNotBetweenTwo) {
  WorkOrder order;
  const WorkStamp first = order.issue(kOne), other = order.issue(kTwo), second = order.issue(kOne);
  EXPECT_TRUE(comes_before(first, second));
  EXPECT_FALSE(comes_before(second, first));
  EXPECT_FALSE(are_ordered(first, other));
}

TEST(WorkOrder, AnEventOrdersWhatCameBeforeItsRecord) {
  WorkOrder order;
  const WorkStamp before = order.issue(kOne);
  order.record(7, kOne);
  const WorkStamp after = order.issue(kOne);
  order.wait(kTwo, 7);
  const WorkStamp waited = order.issue(kTwo);
  EXPECT_TRUE(comes_before(before, waited));
  EXPECT_FALSE(are_ordered(after, waited));
  order.record(8, kTwo);
  order.wait(kThree, 8);
  EXPECT_TRUE(comes_before(before, order.issue(kThree)));
}

TEST(WorkOrder, TheLegacyStreamStandsBetweenBlockingStreamsAlone) {
  WorkOrder order;
  order.make_non_blocking(kThree);
  const WorkStamp before = order.issue(kOne), apart = order.issue(kThree);
  const WorkStamp legacy = order.issue(kDefault);
  EXPECT_TRUE(comes_before(before, legacy));
  EXPECT_TRUE(comes_before(legacy, order.issue(kTwo)));
  EXPECT_FALSE(are_ordered(apart, legacy));
  EXPECT_FALSE(are_ordered(legacy, order.issue(kThree)));
}

TEST(WorkOrder, WhatTheHostHasWaitedForComesBeforeEverythingLater) {
  WorkOrder order;
  const WorkStamp one = order.issue(kOne), two = order.issue(kTwo);
  order.host_waits_for(kOne);
  EXPECT_TRUE(order.host_has_seen(one));
  EXPECT_FALSE(order.host_has_seen(two));
  EXPECT_TRUE(comes_before(one, order.issue(kTwo)));
  order.host_waits_for_device(0);
  EXPECT_TRUE(comes_before(two, order.issue(kOne)));
}

TEST(WorkOrder, ForgetsStreamsThatHaveEnded) {
  WorkOrder order;
  const WorkStamp old = order.issue(kOne);
  order.end(kOne);
  order.forget_ended();
  EXPECT_FALSE(order.host_has_seen(old));
  order.host_waits_for(kOne);
  order.forget_ended();
  EXPECT_FALSE(order.issue(kTwo).before->known.contains(kOne));
}

auto is_at_least(uint64_t wanted) {
  return [wanted](uint64_t now) { return now >= wanted; };
}

TEST(WorkOrder, AWaitForAValueComesAfterItsWrite) {
  WorkOrder order;
  const WorkStamp before = order.issue(kOne);
  EXPECT_FALSE(order.write_value(64, 7, kOne));
  const WorkStamp after = order.issue(kOne);
  order.wait_for_value(64, is_at_least(7), kTwo);
  const WorkStamp waited = order.issue(kTwo);
  EXPECT_TRUE(comes_before(before, waited));
  EXPECT_FALSE(are_ordered(after, waited));
  EXPECT_FALSE(may_become_ordered(after, waited));
}

TEST(WorkOrder, AWaitForAValueMayBeIssuedBeforeItsWrite) {
  WorkOrder order;
  order.write_value(64, 1, kOne);
  order.wait_for_value(64, is_at_least(7), kTwo);
  const WorkStamp waited = order.issue(kTwo), before = order.issue(kOne);
  order.record(9, kTwo);
  order.wait(kThree, 9);
  const WorkStamp later = order.issue(kThree);
  EXPECT_FALSE(are_ordered(before, waited));
  EXPECT_TRUE(may_become_ordered(before, waited));
  EXPECT_FALSE(order.write_value(64, 6, kOne));
  EXPECT_FALSE(order.write_value(72, 8, kOne));
  EXPECT_TRUE(may_become_ordered(before, waited));
  EXPECT_TRUE(order.write_value(64, 8, kOne));
  const WorkStamp after = order.issue(kOne);
  EXPECT_TRUE(comes_before(before, waited));
  EXPECT_TRUE(comes_before(before, later));
  EXPECT_TRUE(comes_before(before, order.issue(kThree)));
  EXPECT_FALSE(are_ordered(after, waited));
  EXPECT_FALSE(may_become_ordered(after, waited));
}

TEST(WorkOrder, TwoStreamsThatWaitForEachOtherEndTheSearch) {
  WorkOrder order;
  order.wait_for_value(64, is_at_least(1), kOne);
  order.wait_for_value(72, is_at_least(1), kTwo);
  order.write_value(72, 1, kOne);
  order.write_value(64, 1, kTwo);
  const WorkStamp one = order.issue(kOne), two = order.issue(kTwo);
  EXPECT_FALSE(are_ordered(one, two));
  EXPECT_FALSE(may_become_ordered(one, two));
}

TEST(WorkOrder, AWriteMayWaitForAValueThatIsWrittenLater) {
  WorkOrder order;
  order.wait_for_value(64, is_at_least(1), kTwo);
  order.wait_for_value(72, is_at_least(1), kOne);
  order.write_value(64, 1, kOne);
  const WorkStamp before = order.issue(kThree);
  order.write_value(72, 1, kThree);
  EXPECT_TRUE(comes_before(before, order.issue(kTwo)));
}

TEST(WorkOrder, ForgetsTheValuesOfMemoryThatWasFreed) {
  WorkOrder order;
  const WorkStamp before = order.issue(kOne);
  order.write_value(64, 7, kOne);
  order.forget_values(0, 128);
  order.wait_for_value(64, is_at_least(7), kTwo);
  EXPECT_FALSE(comes_before(before, order.issue(kTwo)));
}

TEST(Overlap, IsTheFirstByteThatOneOfTwoWrites) {
  TouchedMemory one, other;
  one.reads = {{0, 64, 0}};
  other.reads = {{0, 64, 0}};
  EXPECT_FALSE(first_overlap(one, other));
  other.writes = {{40, 48, 3}, {60, 80, 4}};
  const auto found = first_overlap(one, other);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->address, 40u);
  EXPECT_EQ(found->one, Touch::Read);
  EXPECT_EQ(found->other, Touch::Write);
  EXPECT_EQ(found->place_of_other, 3u);
  EXPECT_EQ(first_overlap(other, one)->place_of_one, 3u);
  other.writes = {{64, 80, 3}};
  EXPECT_FALSE(first_overlap(one, other));
}

TEST(Overlap, IsNoneOfTwoAtomicUpdates) {
  TouchedMemory one, other;
  one.updates = other.updates = {{8, 12, 0}};
  EXPECT_FALSE(first_overlap(one, other));
  other.reads = {{0, 9, 0}};
  EXPECT_EQ(first_overlap(one, other)->address, 8u);
  forget_bytes(one, 0, 9);
  EXPECT_FALSE(first_overlap(one, other));
}

}  // namespace
}  // namespace gpuemu::libcuda
