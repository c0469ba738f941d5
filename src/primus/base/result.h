// A value, or every reason why there is none. A present value may carry warnings and notes.
#pragma once

#include <optional>
#include <utility>

#include "primus/base/check.h"
#include "primus/base/diagnostic.h"

namespace primus {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value, Diagnostics notes = {}) : value_(std::move(value)), diagnostics_(std::move(notes)) {}  // NOLINT
  Result(Diagnostic error) : diagnostics_{std::move(error)} {}                                           // NOLINT
  Result(Diagnostics errors) : diagnostics_(std::move(errors)) {                                         // NOLINT
    PRIMUS_CHECK(has_errors(diagnostics_), "a Result without a value needs an error");
  }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  // Errors when !ok(); warnings and notes otherwise.
  const Diagnostics& diagnostics() const { return diagnostics_; }

  T& value() & { return check(), *value_; }
  const T& value() const& { return check(), *value_; }
  T&& value() && { return check(), *std::move(value_); }
  T* operator->() { return check(), &*value_; }
  const T* operator->() const { return check(), &*value_; }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }

 private:
  void check() const { PRIMUS_CHECK(value_.has_value(), "value() of a failed Result: " + render(diagnostics_)); }

  std::optional<T> value_;
  Diagnostics diagnostics_;
};

// For operations that only succeed or fail.
struct Done {};
using Status = Result<Done>;

// The value, or ConfigError (exit code 2) with all diagnostics: for callers that cannot go on without it.
template <class T>
T value_or_throw(Result<T> result);

}  // namespace primus

#include "primus/base/error.h"

namespace primus {
template <class T>
T value_or_throw(Result<T> result) {
  if (!result.ok()) throw InputError(result.diagnostics());
  return std::move(result).value();
}
}  // namespace primus
