// SPDX-License-Identifier: Apache-2.0
#include "base/option.h"

#include <doctest/doctest.h>

#include <array>
#include <stdexcept>

using namespace igpu;
using namespace std::chrono_literals;

namespace {

enum class Colour { red, blue };

constexpr NumberOption kDepth{{"collector.test.depth", "16", "How deep."}, 1, 64};
constexpr DurationOption kEvery{{"collector.test.every", "15m", "How often."}, 1s};
constexpr SwitchOption kLoud{{"collector.test.loud", "enabled", "Whether it is loud."}};
constexpr TextOption kRules{{"test.rules", "", "Where the rules are."}, "FILE"};
constexpr TextListOption kTrees{{"test.tree", "", "Which trees."}, "PID", [](std::string_view value) -> std::string {
                                  return value == "0" ? "is not a process" : "";
                                }};
constexpr std::array<Choice<Colour>, 2> kColours{{{"red", Colour::red}, {"blue", Colour::blue}}};
constexpr ChoiceOption<Colour> kColour{{"collector.test.colour", "blue", "Its colour."}, kColours};
constexpr NumberOption kOther{{"collector.other.depth", "1", "Somebody else's."}};

constexpr std::array<const OptionDescriptor*, 6> kOptions{&kDepth, &kEvery, &kLoud, &kRules, &kTrees, &kColour};

}  // namespace

TEST_SUITE_BEGIN("option");

TEST_CASE("an option that is not given has its default, in its own type") {
  const OptionValues values(kOptions, {});
  CHECK(values[kDepth] == 16);
  CHECK(values[kEvery] == 15min);
  CHECK(values[kLoud]);
  CHECK(values[kRules].empty());
  CHECK(values[kTrees].empty());
  CHECK(values[kColour] == Colour::blue);
}

TEST_CASE("an option that is given has that value; those of others are ignored") {
  const OptionValues values(kOptions, {{"collector.test.depth", {"64"}},
                                       {"collector.test.every", {"1m30s"}},
                                       {"collector.test.loud", {"false"}},
                                       {"test.rules", {"/etc/rules"}},
                                       {"test.tree", {"7", "9"}},
                                       {"collector.test.colour", {"red"}},
                                       {"collector.other.depth", {"nonsense"}}});
  CHECK(values[kDepth] == 64);
  CHECK(values[kEvery] == 90s);
  CHECK_FALSE(values[kLoud]);
  CHECK(values[kRules] == "/etc/rules");
  CHECK(values[kTrees] == std::vector<std::string>{"7", "9"});
  CHECK(values[kColour] == Colour::red);
}

TEST_CASE("a value that an option refuses is an error that names the flag and says why") {
  const auto refused = [](const OptionDescriptor& option, const char* value, const char* why) {
    CHECK(option.refusal(value) == why);
    try {
      const OptionValues values(kOptions, {{std::string(option.flag()), {value}}});
      FAIL("accepted");
    } catch (const OptionError& error) {
      CHECK(error.flag() == option.flag());
      CHECK(error.reason() == "\"" + std::string(value) + "\" " + why);
    }
  };
  refused(kDepth, "65", "is not a number from 1 to 64");
  refused(kDepth, "-1", "is not a number from 1 to 64");
  refused(kEvery, "15", "is not a duration (write it like 500ms, 1s, 2m)");
  refused(kEvery, "1ms", "is too short");
  refused(kLoud, "maybe", "is neither true nor false");
  refused(kTrees, "0", "is not a process");
  refused(kColour, "green", "is none of red, blue");
  CHECK(kOther.refusal("x") == "is not a number");

  static constexpr DurationOption kBounded{{.flag = "x", .default_value = "1s", .help = "X."}, 10ms, 10s};
  for (const char* const value : {"0", "0s", "1ns", "9ms", "10.1s", "1h"})
    CHECK(kBounded.refusal(value) == "is not a duration from 10ms to 10s");
  for (const char* const value : {"10ms", "100ms", "1.5s", "10s"}) CHECK(kBounded.refusal(value).empty());

  static constexpr RatioOption kShare{{.flag = "x", .default_value = "0.95", .help = "X."}};
  for (const char* const value : {"", "-0.1", "1.01", "95%", "nan", "inf", "1e-1", "0.5 "})
    CHECK(kShare.refusal(value) == "is not a number from 0 to 1");
  for (const char* const value : {"0", "0.95", "1"}) CHECK(kShare.refusal(value).empty());
  CHECK(kShare.parse(std::vector<std::string>{"0.95"}) == 0.95);
}

TEST_CASE("a collector gets its own options only") {
  const OptionValues values(kOptions, {{"collector.other.depth", {"5"}}});
  CHECK_THROWS_AS((void)values[kOther], std::logic_error);
}

TEST_CASE("help shows what an option takes") {
  CHECK(kDepth.placeholder() == "N");
  CHECK(kEvery.placeholder() == "DURATION");
  CHECK(kLoud.placeholder().empty());
  CHECK(kRules.placeholder() == "FILE");
  CHECK(kTrees.placeholder() == "PID");
  CHECK(kTrees.repeatable());
  CHECK(kColour.placeholder() == "red|blue");
}

TEST_SUITE_END();
