// Tests that every instruction of the table is executed in some form, or is marked as unsupported
// in the table.
#include "runtime/emulator/decode/decoders.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "runtime/emulator/decode/modifiers.h"
#include "runtime/emulator/handlers/handlers.h"
#include "runtime/ptx/isa/opcode.h"

namespace gpuemu::emulator {
namespace {

/// The instructions that the handlers' table of meanings names.
std::set<ptx::Opcode> meanings() {
  std::set<ptx::Opcode> all;
  for (const auto& [key, row] : handlers()) {
    all.insert(ptx::opcode_of(key.substr(0, key.find('.'))));
  }
  return all;
}

TEST(Decoders, ExecuteEveryInstructionThatIsNotRefused) {
  std::set<ptx::Opcode> executed = meanings();
  for (const FormRow& row : form_rows()) executed.insert(row.opcode);
  EXPECT_FALSE(executed.contains(ptx::Opcode::Unknown)) << "a handler of no known instruction";
  for (size_t i = 0; i < ptx::kOpcodeCount; ++i) {
    const auto opcode = static_cast<ptx::Opcode>(i);
    EXPECT_NE(executed.contains(opcode), ptx::info(opcode).traits.has(ptx::Trait::Refused))
        << ptx::info(opcode).text;
  }
}

TEST(Decoders, HaveATableOfTheFormsThatTheyTake) {
  std::set<ptx::Opcode> known;
  for (const FormRow& row : form_rows()) known.insert(row.opcode);
  for (size_t i = 0; i < ptx::kOpcodeCount; ++i) {
    const auto opcode = static_cast<ptx::Opcode>(i);
    if (decoder_of(opcode) == nullptr) continue;
    EXPECT_TRUE(known.contains(opcode)) << ptx::info(opcode).text;
  }
}

}  // namespace
}  // namespace gpuemu::emulator
