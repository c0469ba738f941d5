#include "primus/dialect/proxy_change_list.h"

#include "primus/dialect/reader.h"

namespace primus::dialect {

using config::Value;

void ProxyChangeList::set(const std::string& place, Value value, std::string_view rule) {
  const Value* old = find_value(module_.params, place);
  if (old != nullptr && old->same_data(value)) return;
  value.origin().layer = config::Layer::CommandLine;
  value.origin().file = std::make_shared<const std::string>("--proxy");
  list_.push_back({place, old != nullptr ? *old : Value(), std::move(value), std::string(rule)});
}

void ProxyChangeList::put(std::string_view key, const Value& value, std::string_view rule) {
  for (const std::string& place : view_.places(key)) {
    const size_t before = list_.size();
    set(place, value, rule);
    const auto effective = view_.integer(key);
    if (list_.size() > before && list_.back().old_value.is_null() && effective)
      list_.back().old_value = Value(*effective);
  }
}

namespace {

void set_dotted(config::Map& params, std::string_view place, Value value) {
  const size_t dot = place.find('.');
  const std::string head(place.substr(0, dot));
  Value* old = params.find(head);
  if (dot == std::string_view::npos) {
    if (old != nullptr) value.hide(*old);
    params.set(head, std::move(value));
    return;
  }
  if (old == nullptr || !old->is_map()) {
    Value map{config::Map()};
    map.origin() = value.origin();
    if (old != nullptr) map.hide(*old);
    old = &params.set(head, std::move(map));
  }
  set_dotted(old->as_map(), place.substr(dot + 1), std::move(value));
}

}  // namespace

void apply_changes(const std::vector<ProxyChange>& changes, config::Module& module) {
  for (const ProxyChange& change : changes) set_dotted(module.params.as_map(), change.key, change.new_value);
}

}  // namespace primus::dialect
