#include "shed/internal/policy_stack.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "shed/named.h"

namespace shed::internal {
namespace {

std::vector<int> built;
std::vector<int> destroyed;

struct OptionsOfWord {
  int id = 0;
  constexpr std::string_view Problem() const { return id >= 0 ? "" : "id: want 0 or more"; }
};
class Word {
 public:
  static constexpr std::string_view kName = "word";
  using Options = OptionsOfWord;
  struct Hot {
    int value = 7;
  };
  Word(const Options& options, Hot& words) : id(options.id), hot(words) {
#if defined(__cpp_exceptions)
    if (id == 99) throw std::invalid_argument("99");
#endif
    built.push_back(id);
  }
  Word(const Word&) = delete;
  Word& operator=(const Word&) = delete;
  ~Word() { destroyed.push_back(id); }
  const int id;
  Hot& hot;
};
struct Plain {
  static constexpr std::string_view kName = "plain";
  int id = 0;
};

static_assert(std::is_same_v<ParameterOf<Word>, OptionsOfWord>);
static_assert(std::is_same_v<ParameterOf<Plain>, Plain>);
static_assert(ProblemOf<Word>({.id = -1}) == "id: want 0 or more" && ProblemOf<Plain>({}).empty());

using Indices = std::make_index_sequence<3>;
using Block = HotBlock<Indices, Word, Plain, Word>;
using Stack = PolicyStack<Indices, Word, Plain, Word>;
static_assert(sizeof(Block) == 64 && alignof(Block) == 64);
// Four times 16 bytes fill one line, and a policy without a Hot takes nothing of it.
struct Pair : Word {
  struct Hot {
    long words[2];
  };
};
static_assert(sizeof(HotBlock<std::make_index_sequence<5>, Pair, Plain, Pair, Pair, Pair>) == 64);

// Two policies of one type are two objects, each with its own word, in the order given.
TEST(PolicyStack, BuildsInOrderWithWordsOfTheirOwn) {
  built.clear();
  destroyed.clear();
  {
    Block block;
    Stack stack(block, {.id = 1}, {.id = 2}, {.id = 3});
    EXPECT_EQ(built, (std::vector<int>{1, 3}));
    EXPECT_EQ(stack.Get<0>().id, 1);
    EXPECT_EQ(stack.Get<1>().id, 2);
    EXPECT_EQ(std::as_const(stack).Get<2>().id, 3);
    EXPECT_NE(&stack.Get<0>().hot, &stack.Get<2>().hot);
    EXPECT_EQ(stack.Get<2>().hot.value, 7);
    stack.Get<2>().hot.value = 8;
    EXPECT_EQ(stack.Get<0>().hot.value, 7);
    const auto at = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
    EXPECT_EQ(at(&stack.Get<0>().hot) / 64, at(&block) / 64);
  }
  EXPECT_EQ(destroyed, (std::vector<int>{3, 1}));
}

#if defined(__cpp_exceptions)
TEST(PolicyStack, TakesDownWhatItBuiltBeforeAThrow) {
  built.clear();
  destroyed.clear();
  Block block;
  EXPECT_THROW(Stack(block, {.id = 1}, {.id = 2}, {.id = 99}), std::invalid_argument);
  EXPECT_EQ(built, std::vector<int>{1});
  EXPECT_EQ(destroyed, std::vector<int>{1});
}
#endif

static_assert(NamesDiffer<>() && NamesDiffer<Word>() && NamesDiffer<Word, Plain>());
static_assert(!NamesDiffer<Word, Plain, Word>());
static_assert(NamesDiffer<Word, Named<"other", Word>>() &&
              !NamesDiffer<Plain, Named<"plain", Word>>());

}  // namespace
}  // namespace shed::internal
