#include "primus/track/report.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/hub/temp_folder.h"

#include "primus/base/error.h"
#include "primus/track/metrics.h"

namespace primus::track {
namespace {

using testing::HasSubstr;
using testing::Not;

// A run with every curve, a NaN in it, and a name that would break a page.
fs::path make_run(const test::TempFolder& folder) {
  const fs::path run = folder / "a<b>&\"c\"";
  create_folders(run / "config");
  write_file_atomic(run / "config/identity.json",
                    R"({"framework":"megatron","model":"tiny<script>.yaml","hidden_size":64})");
  const auto sink = open_metrics_file(run / "metrics.jsonl", 0);
  for (int64_t step = 1; step <= 30; ++step) {
    sink->on_step({.step = step,
                   .loss = step == 7 ? std::nan("") : 5.0 / static_cast<double>(step),
                   .grad_norm = 1,
                   .lr = 1e-3,
                   .tokens = 100 * step,
                   .tokens_per_s = 1000,
                   .mfu = 0.5,
                   .extra = {{"memory_bytes", 1e9}}});
    if (step % 10 == 0) sink->on_eval({.step = step, .loss = 1.25});
  }
  return run;
}

TEST(Report, HasEveryCurveAndTheFacts) {
  const test::TempFolder folder;
  const fs::path run = make_run(folder);
  const fs::path page = write_report(run);
  EXPECT_EQ(page, run / "report.html");
  const std::string html = *read_text_file(page);
  for (const char* title : {"Loss", "Validation loss", "Learning rate", "Gradient norm", "Throughput",
                            "Share of the measured peak", "Memory"}) {
    EXPECT_THAT(html, HasSubstr(std::string("<h2>") + title + "</h2>"));
  }
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_THAT(html, HasSubstr("config/resolved.yaml"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(html, HasSubstr("width=device-width"));
  EXPECT_THAT(html, HasSubstr("0.1667"));  // the last loss
  EXPECT_THAT(html, HasSubstr("1.2500"));  // the last validation loss
}

TEST(Report, NeedsNoNetworkAndNoScript) {
  const test::TempFolder folder;
  const std::string html = *read_text_file(write_report(make_run(folder)));
  for (const char* part : {"http:", "https:", "//", "<script", "<link", "@import", "url(", "src="})
    EXPECT_THAT(html, Not(HasSubstr(part)));
}

TEST(Report, EscapesNames) {
  const test::TempFolder folder;
  const std::string html = *read_text_file(write_report(make_run(folder)));
  EXPECT_THAT(html, HasSubstr("<title>a&lt;b&gt;&amp;&quot;c&quot;</title>"));
  EXPECT_THAT(html, HasSubstr("tiny&lt;script&gt;.yaml"));
}

TEST(Report, OfAFolderWithoutARunSaysSo) {
  const test::TempFolder folder;
  try {
    write_report(folder.path());
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("metrics.jsonl is missing"));
  }
}

TEST(Report, OfARunThatHasOnlyBegunIsAPage) {
  const test::TempFolder folder;
  write_file_atomic(folder / "metrics.jsonl", "");
  EXPECT_THAT(*read_text_file(write_report(folder.path())), HasSubstr("</html>"));
  write_file_atomic(folder / "metrics.jsonl", "{\"step\":1,\"loss\":\"NaN\"}\n{\"step\":2,\"lo");
  EXPECT_THAT(*read_text_file(write_report(folder.path())), HasSubstr("</html>"));
}

}  // namespace
}  // namespace primus::track
