// Bytes of two records as the `tensorboard` package writes them, and what the sink puts into a file.
#include "primus/track/tensorboard.h"

#include <cstring>
#include <gtest/gtest.h>

#include "unit/hub/temp_folder.h"

#include "primus/track/metrics.h"

namespace primus::track {
namespace {

std::string hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

TEST(TensorboardRecord, OfTheVersionEqualsTheReference) {
  EXPECT_EQ(hex(event_record(version_event(1.0))),
            "1800000000000000"
            "a37f4b22"
            "09000000000000f03f1a0d627261696e2e4576656e743a32"
            "86bf577a");
}

TEST(TensorboardRecord, OfAScalarEqualsTheReference) {
  EXPECT_EQ(hex(event_record(scalar_event(1.0, 3, "a", 0.5F))),
            "1700000000000000"
            "e7cef81e"
            "09000000000000f03f10032a0a0a080a0161150000003f"
            "a4692d17");
}

TEST(TensorboardRecord, WritesLongStepsAndTagsAsVarints) {
  EXPECT_NE(hex(scalar_event(1.0, 300, "a", 0)).find("10ac02"), std::string::npos);
  const std::string tag(200, 'x');
  EXPECT_NE(hex(scalar_event(1.0, 1, tag, 0)).find("0ac801" + hex(tag)), std::string::npos);
}

// Every record of a file: its event bytes.
std::vector<std::string> events_in(const std::string& bytes) {
  std::vector<std::string> events;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    events.push_back(bytes.substr(at + 12, length));
    EXPECT_EQ(event_record(events.back()), bytes.substr(at, length + 16));
    at += length + 16;
  }
  return events;
}

TEST(TensorboardFile, CarriesMegatronsTags) {
  const test::TempFolder folder;
  const auto sink = open_tensorboard(folder / "tensorboard");
  sink->on_step({.step = 5, .loss = 2.5, .extra = {{"loss_scale", 8}, {"memory_bytes", 1}}});
  sink->on_eval({.step = 5, .loss = 3.5});
  const fs::path file = fs::directory_iterator(folder / "tensorboard")->path();
  EXPECT_EQ(file.filename().string().find("events.out.tfevents."), 0U);
  const std::string bytes = *read_text_file(file);
  const std::vector<std::string> events = events_in(bytes);
  EXPECT_NE(events.at(0).find("brain.Event:2"), std::string::npos);
  for (const char* tag : {"lm loss", "lm loss vs samples", "grad-norm", "learning-rate", "batch-size", "iteration-time",
                          "loss-scale", "mem-allocated-bytes", "lm loss validation"}) {
    const std::string field = std::string(1, static_cast<char>(std::strlen(tag))) + tag;
    EXPECT_EQ(std::count_if(events.begin(), events.end(),
                            [&](const std::string& e) { return e.find("\x0a" + field + "\x15") != std::string::npos; }),
              1)
        << tag;
  }
}

TEST(TensorboardFile, OfAResumedRunIsAnotherOne) {
  const test::TempFolder folder;
  open_tensorboard(folder.path());
  open_tensorboard(folder.path())->on_eval({.step = 1, .loss = 2});
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 2);
}

}  // namespace
}  // namespace primus::track
