// Each barrier of the device code is needed: without it, some launch gives a wrong result, breaks a
// rule of the machine, or does not end. Those that are not are listed here with their reason.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "compare.h"

namespace {

constexpr int kNumProblems = 1500;
constexpr unsigned kMaxSeconds = 60;

bool all_equal(const simt::Options &options) {
  std::mt19937_64 random(20);
  for (int i = 0; i < kNumProblems; ++i) {
    if (simt_test::difference(random, simt_test::kSmall, i, options) != "") return false;
  }
  return true;
}

// The text of a line of device code, which names a barrier better than its number.
std::string text_of(const simt::Place &place) {
  std::ifstream file(place.file);
  std::string line;
  for (int i = 0; i < place.line; ++i) std::getline(file, line);
  return line.substr(std::min(line.size(), line.find_first_not_of(' ')));
}

// Not noticed: fibers run a team to its end before another begins, so nobody sees what a team has
// left in the workspace too early. The barrier is between all threads' fences and the number of
// teams that are done.
bool is_for_other_teams(const simt::Site &site) {
  return text_of(site.place) == "ctx.team_sync();" &&
         std::string(site.place.file).find("spread.cuh") != std::string::npos;
}

// In a child, which may crash or hang.
bool is_noticed_missing(int site) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kMaxSeconds);
    std::freopen("/dev/null", "w", stderr);
    simt::Options options;
    options.skip_site = site;
    bool equal = false;
    try {
      equal = all_equal(options);
    } catch (const std::exception &) {
    }
    _exit(equal ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Barriers, EachIsNeeded) {
  ASSERT_TRUE(all_equal(simt::Options()));
  const auto sites = simt::sites();  // a copy: it grows with what runs
  int num_barriers = 0;
  for (size_t i = 0; i < sites.size(); ++i) {
    const bool is_collective = sites[i].kind != simt::Kind::kSync &&
                               sites[i].kind != simt::Kind::kTeamSync &&
                               sites[i].kind != simt::Kind::kWarpSync;
    if (is_collective || is_for_other_teams(sites[i])) continue;
    ++num_barriers;
    EXPECT_TRUE(is_noticed_missing(int(i)))
        << simt::to_string(sites[i]) << ": " << text_of(sites[i].place);
  }
  EXPECT_GE(num_barriers, 10);
}

}  // namespace
