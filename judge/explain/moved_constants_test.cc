#include "judge/explain/moved_constants.h"

#include <set>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

std::set<std::string> made_of(const std::string& ptx) {
  std::set<std::string> made;
  for (uint64_t draw = 1; draw <= 16; ++draw) made.insert(with_moved_constants(ptx, draw));
  return made;
}

TEST(MovedConstants, AConstantThatWasRoundedMovesToEitherNeighbour) {
  EXPECT_EQ(made_of("fma.rn.f32 %f3, %f1, 0f3F666666, %f2;"),
            (std::set<std::string>{"fma.rn.f32 %f3, %f1, 0f3F666665, %f2;",
                                   "fma.rn.f32 %f3, %f1, 0f3F666667, %f2;"}));
  EXPECT_EQ(made_of("mov.f32 %f1, 0fBF666666;").size(), 2u) << "-0.9";
}

TEST(MovedConstants, ItMovesTheSameWayWhereverItStands) {
  for (const std::string& made : made_of("0f3F666666 0f3F666666")) {
    EXPECT_EQ(made.substr(0, 10), made.substr(11)) << made;
  }
  EXPECT_EQ(made_of("0f3F666666 0f3DCCCCCD").size(), 4u) << "two constants are apart";
}

TEST(MovedConstants, WhatIsLeftOfOneMovesByTheLastPlaceOfTheRest) {
  // 1 - 0.999f = 16777 / 2^24
  EXPECT_EQ(made_of("0f3A831200"), (std::set<std::string>{"0f3A831000", "0f3A831400"}));
}

TEST(MovedConstants, WhatIsMeantAsItIsStays) {
  for (const char* text : {"0f3F000000", "0f41100000", "0f4B400000", "0f7F800000", "0f7FFFFFFF",
                           "0x0f3F666666", "0f3F6666", "%r0f3F666666", "0d3FECCCCCCCCCCCCD"}) {
    EXPECT_EQ(made_of(text), std::set<std::string>{text});
  }
}

}  // namespace
}  // namespace gpuemu
