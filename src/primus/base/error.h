// Exceptions that end a run. Caught once, in apps/; each knows its exit code. User mistakes with several findings
// travel as Result<T> (result.h) and become InputError only where nothing can go on without the value.
#pragma once

#include <stdexcept>
#include <string>

#include "primus/base/diagnostic.h"
#include "primus/base/exit_code.h"

namespace primus {

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// Bad arguments, configuration or input files: exit code 2.
class InputError : public Error {
 public:
  explicit InputError(Diagnostics diagnostics)
      : Error(ExitCode::BadInput, render(diagnostics)), diagnostics_(std::move(diagnostics)) {}
  explicit InputError(Diagnostic diagnostic) : InputError(Diagnostics{std::move(diagnostic)}) {}
  explicit InputError(const std::string& message) : InputError(error_at({}, message)) {}
  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  Diagnostics diagnostics_;
};

// The run failed: disk full, lost peer, corrupt shard. Exit code 1.
class RunError : public Error {
 public:
  explicit RunError(const std::string& message) : Error(ExitCode::RunFailed, message) {}
};

// Something this machine lacks; the message says how to get it. Exit code 3.
class MissingPartError : public Error {
 public:
  explicit MissingPartError(const std::string& message) : Error(ExitCode::MissingPart, message) {}
};

// A check that the user asked for did not pass. Exit code 4.
class CheckFailedError : public Error {
 public:
  explicit CheckFailedError(const std::string& message) : Error(ExitCode::CheckFailed, message) {}
};

}  // namespace primus
