// doctor: what is installed, found and chosen on this machine, and what to do about what is missing.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <ostream>
#include <unistd.h>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/cli/app.h"
#include "primus/cli/build_facts.h"
#include "primus/cli/options.h"
#include "primus/launch/machine.h"
#include "primus/launch/port.h"

namespace primus::cli {
namespace {

enum class State { Good, Note, Missing };  // Missing: training is not possible without it

struct Check {
  std::string name;
  State state = State::Good;
  std::string found;
  std::string advice;  // what to do; empty when there is nothing to do
};

const char* to_string(State state) {
  switch (state) {
    case State::Good:
      return "ok";
    case State::Note:
      return "note";
    case State::Missing:
      return "missing";
  }
  return "";
}

std::optional<fs::path> find_in_path(const Environment& environment, const std::string& program) {
  for (const auto& folder : split(environment("PATH").value_or(""), ':')) {
    const fs::path candidate = fs::path(folder) / program;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

// First line that `program argument` prints. Both are fixed texts of this file.
std::string first_output_line(const std::string& command) {
  const auto close = [](FILE* file) { ::pclose(file); };
  const std::unique_ptr<FILE, decltype(close)> pipe(::popen((command + " 2>/dev/null").c_str(), "re"), close);
  std::array<char, 256> line{};
  if (!pipe || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return "";
  return std::string(trim(line.data()));
}

Check check_tool(const Environment& environment, const std::string& program, const std::string& version_option,
                 State when_missing, const std::string& why) {
  const auto path = find_in_path(environment, program);
  if (!path) return {program, when_missing, "not found", "tools/bootstrap installs it (" + why + ")"};
  const std::string version = version_option.empty() ? "" : first_output_line(program + " " + version_option);
  return {program, State::Good, path->string() + (version.empty() ? "" : ", " + version), ""};
}

Check check_torch() {
  const fs::path root = configured_torch_root();
  const std::string advice =
      "tools/bootstrap fetches it; PRIMUS_TORCH_DIR=<folder with include/ and lib/> takes another";
  if (root.empty()) return {"libtorch", State::Missing, "this build was configured without it", advice};
  const auto found = torch_version(root);
  if (!found) return {"libtorch", State::Missing, "no version header in " + root.string(), advice};
  for (const char* library : {"lib/libtorch_cpu.so", "lib/libc10.so"}) {
    if (!fs::exists(root / library))
      return {"libtorch", State::Missing, (root / library).string() + " is not there", advice};
  }
  return {"libtorch", State::Good, *found + " in " + root.string(), ""};
}

Check check_engine(const Context& context) {
  const fs::path program = train_program(context);
  if (::access(program.c_str(), X_OK) == 0) return {"primus-train", State::Good, program.string(), ""};
  return {"primus-train", State::Missing, program.string() + " is not there", "./primus-cli builds it on first use"};
}

Check check_cpu() {
  const launch::CpuFacts facts = launch::read_cpu_facts();
  const std::string features =
      facts.features.empty() ? "no vector features that matter here" : join(facts.features, " ");
  const bool fast = std::find(facts.features.begin(), facts.features.end(), "avx2") != facts.features.end() ||
                    std::find(facts.features.begin(), facts.features.end(), "asimd") != facts.features.end();
  return {"cpu", fast ? State::Good : State::Note, facts.model + ": " + features,
          fast ? "" : "training works, slowly: the fast kernels need AVX2"};
}

Check check_cores(const Environment& environment) {
  Check check{"cores", State::Good, fmt::format("{} may be used", launch::available_cores()), ""};
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "MKL_NUM_THREADS", "KMP_AFFINITY"}) {
    if (const auto value = environment(name)) {
      check.state = State::Note;
      check.found += fmt::format("; {}={} is inherited and obeyed", name, printable_ascii(*value));
      check.advice = "unset it unless you meant it";
    }
  }
  return check;
}

Check check_memory() {
  const launch::MemoryFacts facts = launch::read_memory_facts();
  constexpr int64_t kComfortable = int64_t{4} << 30;
  const bool enough = facts.available_bytes >= kComfortable;
  return {"memory", enough ? State::Good : State::Note,
          fmt::format("{} of {} available", format_bytes(static_cast<double>(facts.available_bytes)),
                      format_bytes(static_cast<double>(facts.total_bytes))),
          enough ? "" : "building the engine and training small models want about 4 GiB"};
}

Check check_disk() {
  constexpr int64_t kComfortable = int64_t{5} << 30;
  const auto free = launch::free_disk_bytes(fs::current_path());
  if (!free) return {"disk", State::Note, "free space of this folder is not known", ""};
  const bool writable = ::access(fs::current_path().c_str(), W_OK) == 0;
  const bool enough = *free >= kComfortable && writable;
  return {"disk", enough ? State::Good : State::Note,
          fmt::format("{} free in {}{}", format_bytes(static_cast<double>(*free)), fs::current_path().string(),
                      writable ? "" : ", which is read-only"),
          enough ? "" : "set `workspace` of the experiment to a folder with room: checkpoints are large"};
}

Check check_port() {
  const auto port = launch::PortReservation::any_free();
  if (!port.ok()) {
    return {"ports", State::Missing, port.diagnostics().front().message, "allow this program to open TCP sockets"};
  }
  return {"ports", State::Good, fmt::format("a free one was found ({})", port->port()), ""};
}

Check check_hf_home(const Environment& environment) {
  const auto chosen = environment("HF_HOME");
  const fs::path home = environment("HOME").value_or("");
  const fs::path folder = chosen && !chosen->empty() ? fs::path(*chosen) : home / ".cache/huggingface";
  const std::string source = chosen && !chosen->empty() ? "HF_HOME" : "HF_HOME is not set";
  if (fs::exists(folder)) return {"hugging face cache", State::Good, folder.string() + " (" + source + ")", ""};
  return {"hugging face cache", State::Note, folder.string() + " does not exist (" + source + ")",
          "needed only for tokenizers that are named, not given as a path; nothing is downloaded during a run"};
}

Check check_accelerator() {
  if (fs::exists("/dev/kfd"))
    return {"accelerator", State::Note, "/dev/kfd (AMD GPU)", "this version trains on the CPU only"};
  if (fs::exists("/dev/nvidia0")) {
    return {"accelerator", State::Note, "/dev/nvidia0 (NVIDIA GPU)", "this version trains on the CPU only"};
  }
  return {"accelerator", State::Good, "none; training runs on the CPU", ""};
}

std::vector<Check> all_checks(const Context& context) {
  const Environment& environment = context.environment;
  return {
      {"primus", State::Good,
       fmt::format("{} built with {}, {}", version(), compiler_name(), context.program_folder.string()), ""},
      {"presets", fs::exists(context.install_root / "primus/configs") ? State::Good : State::Missing,
       (context.install_root / "primus/configs").string(),
       fs::exists(context.install_root / "primus/configs")
           ? ""
           : "run primus-cli from a complete clone, or pass --presets DIR"},
      check_engine(context),
      check_torch(),
      check_tool(environment, "g++", "-dumpfullversion", State::Note, "the reference compiler"),
      check_tool(environment, "cmake", "--version", State::Note, "builds the programs"),
      check_tool(environment, "ninja", "--version", State::Note, "builds the programs"),
      check_tool(environment, "ccache", "", State::Note, "optional, makes rebuilding fast"),
      check_tool(environment, "mold", "", State::Note, "optional, links fast"),
      check_cpu(),
      check_cores(environment),
      check_memory(),
      check_disk(),
      check_port(),
      check_hf_home(environment),
      check_accelerator(),
  };
}

void print_text(const std::vector<Check>& checks, std::ostream& out) {
  for (const Check& check : checks) {
    out << fmt::format("{:<8} {:<19} {}\n", to_string(check.state), check.name, check.found);
    if (!check.advice.empty()) out << fmt::format("{:<28} -> {}\n", "", check.advice);
  }
}

void print_json(const std::vector<Check>& checks, bool ready, std::ostream& out) {
  Json list = Json::array();
  for (const Check& check : checks) {
    list.push_back(
        {{"name", check.name}, {"status", to_string(check.state)}, {"found", check.found}, {"advice", check.advice}});
  }
  out << dump_json(Json{{"ready", ready}, {"checks", list}}, 2) << "\n";
}

}  // namespace

ExitCode run_doctor(Context& context) {
  CLI::App app("What is installed, found and chosen on this machine, and what to do about what is missing.",
               "primus-cli doctor");
  std::string format = "text";
  app.add_option("--format", format, "text or json")->check(CLI::IsMember({"text", "json"}));
  if (!parse_options(app, context)) return ExitCode::Ok;

  const std::vector<Check> checks = all_checks(context);
  const bool ready =
      std::none_of(checks.begin(), checks.end(), [](const Check& c) { return c.state == State::Missing; });
  if (format == "json") {
    print_json(checks, ready, *context.out);
  } else {
    print_text(checks, *context.out);
    *context.out << (ready ? "everything that training needs is here\n"
                           : "training is not possible yet: see `missing` above\n");
  }
  return ready ? ExitCode::Ok : ExitCode::MissingPart;
}

}  // namespace primus::cli
