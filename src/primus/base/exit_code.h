// Exit codes of both programs. The table for users is docs/cli.md.
#pragma once

namespace primus {

enum class ExitCode : int {
  Ok = 0,
  RunFailed = 1,    // a run-time failure: disk full, a lost peer, a corrupt shard
  BadInput = 2,     // bad arguments or configuration, found before any work
  MissingPart = 3,  // a dependency or a part of the environment is missing
  CheckFailed = 4,  // a check that was asked for did not pass (verify, checkpoint verify, config diff)
};
inline constexpr int kSignalExitBase = 128;  // 128 + n: ended by signal n

}  // namespace primus
