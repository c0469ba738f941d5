// A covering array: rows of choices in which every combination of values of any `strength` axes occurs.
#pragma once

#include <cstddef>
#include <vector>

namespace primus::test {

using Choices = std::vector<size_t>;  // a value's number, per axis

// All sets of `strength` axes.
inline std::vector<Choices> axis_sets(size_t num_axes, size_t strength) {
  std::vector<Choices> sets = {{}};
  for (size_t i = 0; i < strength; ++i) {
    std::vector<Choices> longer;
    for (const Choices& set : sets) {
      for (size_t axis = set.empty() ? 0 : set.back() + 1; axis < num_axes; ++axis) {
        longer.push_back(set);
        longer.back().push_back(axis);
      }
    }
    sets = std::move(longer);
  }
  return sets;
}

// Every row of the product of all axes.
inline std::vector<Choices> all_rows(const Choices& num_values) {
  std::vector<Choices> rows = {{}};
  for (const size_t count : num_values) {
    std::vector<Choices> longer;
    for (const Choices& row : rows) {
      for (size_t value = 0; value < count; ++value) {
        longer.push_back(row);
        longer.back().push_back(value);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

// Greedy: the row that brings most new combinations, again and again. The same rows every time.
inline std::vector<Choices> covering_array(const Choices& num_values, size_t strength) {
  const std::vector<Choices> sets = axis_sets(num_values.size(), strength), rows = all_rows(num_values);
  std::vector<size_t> first = {0};  // of each set's combinations in `covered`
  for (const Choices& set : sets) {
    size_t size = 1;
    for (const size_t axis : set) size *= num_values[axis];
    first.push_back(first.back() + size);
  }
  std::vector<bool> covered(first.back(), false);
  const auto place = [&](size_t set, const Choices& row) {
    size_t number = 0;
    for (const size_t axis : sets[set]) number = number * num_values[axis] + row[axis];
    return first[set] + number;
  };
  std::vector<Choices> chosen;
  for (size_t left = covered.size(); left > 0;) {
    size_t best = 0, most = 0;
    // From another place each time: ties would otherwise always go to the first values.
    for (size_t i = 0; i < rows.size() && most < sets.size(); ++i) {
      const size_t candidate = (i + chosen.size() * 7919) % rows.size();
      size_t gain = 0;
      for (size_t set = 0; set < sets.size(); ++set) gain += !covered[place(set, rows[candidate])];
      if (gain > most) most = gain, best = candidate;
    }
    chosen.push_back(rows[best]);
    for (size_t set = 0; set < sets.size(); ++set) covered[place(set, rows[best])] = true;
    left -= most;
  }
  return chosen;
}

}  // namespace primus::test
