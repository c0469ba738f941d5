#include "primus/launch/port.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

#include "primus/launch/machine.h"

namespace primus::launch {
namespace {

// A listening socket as c10d's store makes it; -1 when the port is refused.
int listen_on(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(fd, 4) == 0) return fd;
  ::close(fd);
  return -1;
}

TEST(PortReservation, NeverGivesOnePortTwice) {
  std::vector<PortReservation> held;
  std::set<int> ports;
  for (int i = 0; i < 37; ++i) {
    held.push_back(value_or_throw(PortReservation::any_free()));
    ports.insert(held.back().port());
  }
  EXPECT_EQ(ports.size(), held.size());
}

TEST(PortReservation, LetsRankZeroListenOnThePortThatIsHeld) {
  const PortReservation held = value_or_throw(PortReservation::any_free());
  const int fd = listen_on(held.port());
  EXPECT_GE(fd, 0);
  ::close(fd);
}

TEST(PortReservation, RefusesAPortThatAProgramListensOn) {
  int port = 0;
  {
    const PortReservation free = value_or_throw(PortReservation::any_free());
    port = free.port();
  }
  const int fd = listen_on(port);
  ASSERT_GE(fd, 0);
  const auto refused = PortReservation::of(port);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(render(refused.diagnostics()), testing::HasSubstr("another program listens on it"));
  ::close(fd);
}

TEST(PortReservation, RefusesAPortThatAnotherJobHoldsAndGivesItBackAfterwards) {
  int port = 0;
  {
    const PortReservation held = value_or_throw(PortReservation::any_free());
    port = held.port();
    const auto refused = PortReservation::of(port);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(render(refused.diagnostics()), testing::HasSubstr("another job"));
  }
  EXPECT_TRUE(PortReservation::of(port).ok());
}

TEST(Machine, ReadsTheQuotaOfAControlGroup) {
  EXPECT_EQ(cores_of_quota("350000 100000"), 3);
  EXPECT_EQ(cores_of_quota("50000 100000"), 1);
  EXPECT_FALSE(cores_of_quota("max 100000"));
  EXPECT_FALSE(cores_of_quota(""));
  EXPECT_GE(available_cores(), 1);
}

TEST(Machine, KnowsItsMemoryAndDisk) {
  const MemoryFacts memory = read_memory_facts();
  EXPECT_GT(memory.total_bytes, 0);
  EXPECT_LE(memory.available_bytes, memory.total_bytes);
  EXPECT_GT(free_disk_bytes("/tmp/not/made/yet").value_or(0), 0);
}

}  // namespace
}  // namespace primus::launch
