// SIGTERM and SIGINT as a request that the loop reads between steps. The one process-wide flag of this room: a signal
// handler can reach nothing else.
#pragma once

namespace primus::train {

// Installs the handlers. A second signal of the same kind takes its default action.
void watch_stop_signals();
// The signal that asked to stop, 0 for none.
int requested_stop();

}  // namespace primus::train
