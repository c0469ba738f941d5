#include "primus/train/stop_signal.h"

#include <csignal>

namespace primus::train {

namespace {

volatile std::sig_atomic_t stop_signal = 0;

void on_signal(int number) {
  stop_signal = number;
  std::signal(number, SIG_DFL);
}

}  // namespace

void watch_stop_signals() {
  std::signal(SIGTERM, on_signal);
  std::signal(SIGINT, on_signal);
}

int requested_stop() {
  return stop_signal;
}

}  // namespace primus::train
