// What a proxy changes, collected key by key. Private to the room.
#pragma once

#include <string>
#include <vector>

#include "primus/dialect/proxy.h"
#include "primus/dialect/proxy_keys.h"

namespace primus::dialect {

class ProxyChangeList {
 public:
  explicit ProxyChangeList(const config::Module& module) : module_(module), view_(module) {}

  const ProxyView& view() const { return view_; }
  // A key as the module writes it; nothing when it has that value already.
  void set(const std::string& place, config::Value value, std::string_view rule);
  // A key of the table, wherever it counts. Where nothing is written the flavor's or recipe's value is the old one.
  void put(std::string_view key, const config::Value& value, std::string_view rule);
  void put(std::string_view key, int64_t value, std::string_view rule) { put(key, config::Value(value), rule); }

  std::vector<ProxyChange> take() { return std::move(list_); }
  const std::vector<ProxyChange>& list() const { return list_; }

 private:
  const config::Module& module_;
  ProxyView view_;
  std::vector<ProxyChange> list_;
};

// Puts the changes into the module; maps on the way are made, and a new value remembers what it hides.
void apply_changes(const std::vector<ProxyChange>& changes, config::Module& module);

// Made-up data instead of the experiment's. Fine-tuning recipes have none: nothing changes.
std::vector<ProxyChange> mock_data_changes(const config::Module& module);
// All parallel axes become 1.
std::vector<ProxyChange> one_device_changes(const config::Module& module);

}  // namespace primus::dialect
