// Which of its addresses a machine shows to the other ranks.
#pragma once

#include <string>

namespace primus::dist {

// The address from which this machine reaches `master_address`; PRIMUS_NETWORK_ADDRESS overrules it. Numeric. When that
// is a loopback one although the master is named by another (a name that /etc/hosts maps to 127.0.1.1), the first
// address of an interface that is up. Throws RunError when the master's name has no address.
std::string own_address(const std::string& master_address);

}  // namespace primus::dist
