// Drives a fuzz target where there is no libFuzzer: the corpus, then inputs mutated from it. Reproducible.
//   fuzz_<name> CORPUS [number of mutated inputs]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

class Random {
 public:
  size_t below(size_t bound) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return bound == 0 ? 0 : static_cast<size_t>(state_ % bound);
  }

 private:
  uint64_t state_ = 88172645463325252U;
};

// What grammars of the targets turn on.
constexpr const char* kWords[] = {"${",
                                  "}",
                                  ":",
                                  ": ",
                                  "\n",
                                  "\n  ",
                                  "- ",
                                  "[",
                                  "]",
                                  "{",
                                  "&a ",
                                  "*a",
                                  "<<:",
                                  "\"",
                                  "'",
                                  "#",
                                  "null",
                                  "true",
                                  "1e-5",
                                  "~",
                                  "|\n",
                                  ">\n",
                                  "---",
                                  "...",
                                  "!!",
                                  "\t",
                                  "\\",
                                  "%%",
                                  ",",
                                  "0x1f",
                                  "1_000",
                                  "\r\n",
                                  "\0",
                                  "rope_",
                                  ".5",
                                  "-1",
                                  "999999999999999999999",
                                  "\xef\xbb\xbf",
                                  "\xff",
                                  "\"model_type\": \"llama\""};

std::string mutate(std::string text, const std::vector<std::string>& corpus, Random& random) {
  for (size_t step = 0; step <= random.below(6); ++step) {
    const size_t at = random.below(text.size() + 1);
    const size_t length = random.below(std::min<size_t>(24, text.size() - at) + 1);
    switch (random.below(6)) {
      case 0:
        text.insert(at, kWords[random.below(std::size(kWords))]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
        break;
      case 3:
        text.insert(at, text.substr(at, length));
        break;
      case 4:
        text.replace(at, length, kWords[random.below(std::size(kWords))]);
        break;
      default: {
        const std::string& other = corpus[random.below(corpus.size())];
        const size_t from = random.below(other.size() + 1);
        text.insert(at, other.substr(from, random.below(64)));
      }
    }
  }
  return text;
}

void run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s CORPUS [number]\n", argv[0]), 2;
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) files.insert(entry.path().string());
  std::vector<std::string> corpus;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) return std::fprintf(stderr, "no seeds in %s\n", argv[1]), 1;
  for (const std::string& text : corpus) run(text);
  const long number = argc > 2 ? std::atol(argv[2]) : 0;
  Random random;
  for (long i = 0; i < number; ++i) run(mutate(corpus[random.below(corpus.size())], corpus, random));
  std::printf("%zu seeds, %ld mutated inputs\n", corpus.size(), number);
  return 0;
}
