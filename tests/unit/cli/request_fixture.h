// Command lines that are only read: what they ask for, or why they are refused.
#pragma once

#include <gtest/gtest.h>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "primus/base/error.h"
#include "primus/cli/command.h"

namespace primus::cli {

template <class Request>
class RequestFixture : public testing::Test {
 protected:
  using Read = std::optional<Request> (*)(Context&);
  explicit RequestFixture(Read read) : read_(read) {}

  std::optional<Request> read(std::vector<std::string> arguments) {
    Context context;
    context.arguments = std::move(arguments);
    context.out = &out_;
    context.err = &err_;
    return read_(context);
  }
  std::string refusal(std::vector<std::string> arguments) {
    try {
      read(std::move(arguments));
    } catch (const InputError& error) {
      return error.what();
    }
    ADD_FAILURE() << "was accepted";
    return "";
  }
  std::ostringstream out_, err_;

 private:
  Read read_;
};

}  // namespace primus::cli
