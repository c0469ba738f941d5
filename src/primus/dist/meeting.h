// Where the ranks of a job meet: a key-value store that rank 0 serves on MASTER_ADDR:MASTER_PORT.
#pragma once

#include <memory>
#include <string>

#include "primus/dist/connect.h"
#include "primus/dist/transport.h"

namespace primus::dist {

class Meeting {
 public:
  // Returns when all ranks are there. Throws RunError naming those that did not come in time.
  explicit Meeting(const Endpoint& endpoint);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  void set(const std::string& key, const std::string& value);
  // Waits until somebody sets it; RunError after the start-up limit.
  std::string get(const std::string& key);

  struct Store;
  const std::shared_ptr<Store>& store() const { return store_; }

 private:
  std::shared_ptr<Store> store_;
};

}  // namespace primus::dist
