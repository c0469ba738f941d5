#include "primus/track/report.h"

#include <cmath>
#include <fmt/format.h>
#include <map>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/track/chart.h"

namespace primus::track {

namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ink: #1d2433; --soft: #6b7280; --paper: #ffffff; --card: #f6f7f9; --grid: #e3e6ea;
  --a: #2563eb; --b: #d97706; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #9aa3b2; --paper: #14171c; --card: #1c2027;
  --grid: #2c323c; --a: #7aa2f7; --b: #e0af68; } }
body { margin: 0 auto; max-width: 1340px; padding: 16px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 4px; } h2 { font-size: 1rem; margin: 0 0 6px; } a { color: var(--a); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 8px; margin: 16px 0; padding: 0; }
.facts div, section { background: var(--card); border-radius: 8px; padding: 10px 12px; }
.facts dt { color: var(--soft); font-size: .8rem; } .facts dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 12px; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--soft); font-size: 12px; }
.grid { stroke: var(--grid); } .line { fill: none; stroke-width: 1.6; } .s0 { stroke: var(--a); } .s1 { stroke: var(--b); }
.dot.s0 { fill: var(--a); } .dot.s1 { fill: var(--b); } .legend { color: var(--soft); font-size: .85rem; }
.legend b { font-weight: 600; } .key0 { color: var(--a); } .key1 { color: var(--b); } .empty { color: var(--soft); }
)";

struct Rows {
  std::map<std::string, Series> by_key;  // "loss", "val_loss", ...
  Json last_step;
};

double as_number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  return std::nan("");  // null, "NaN", "Infinity": a gap
}

Rows read_rows(const fs::path& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok())
    throw RunError(fmt::format("'{}' holds no run: metrics.jsonl is missing", path.parent_path().string()));
  Rows rows;
  for (const std::string& line : split(*text, '\n')) {
    const Result<Json> row = line.empty() ? Result<Json>(Json()) : parse_json(line, path.string());
    if (!row.ok() || !row->contains("step") || !(*row)["step"].is_number()) continue;
    const double step = (*row)["step"].get<double>();
    for (const auto& [key, value] : row->items()) {
      if (key == "step") continue;
      Series& series = rows.by_key[key];
      series.x.push_back(step);
      series.y.push_back(as_number(value));
    }
    if (row->contains("loss")) rows.last_step = *row;
  }
  return rows;
}

std::string escape(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string fact(const std::string& name, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value));
}

std::string facts(const Rows& rows, const fs::path& folder) {
  std::string html = "<dl class=facts>\n";
  const Result<std::string> text = read_text_file(folder / "config/identity.json");
  const Result<Json> identity = text.ok() ? parse_json(*text, "identity.json") : Result<Json>(Json::object());
  if (identity.ok()) {
    for (const auto& [key, name] : {std::pair{"framework", "framework"},
                                    {"model", "model"},
                                    {"num_layers", "layers"},
                                    {"hidden_size", "hidden size"},
                                    {"seq_length", "sequence length"},
                                    {"global_batch_size", "global batch"},
                                    {"seed", "seed"}}) {
      if (!identity->contains(key)) continue;
      const Json& value = (*identity)[key];
      html += fact(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  if (rows.last_step.is_object()) {
    const auto number = [&](const char* key) { return as_number(rows.last_step.value(key, Json())); };
    html += fact("steps", format_thousands(static_cast<int64_t>(number("step"))));
    html += fact("tokens", format_count(number("tokens")));
    html += fact("last loss", fmt::format("{:.4f}", number("loss")));
  }
  for (const auto& [key, series] : rows.by_key) {
    if (key.starts_with("val_loss") && !series.y.empty())
      html += fact("last " + key, fmt::format("{:.4f}", series.y.back()));
  }
  return html + "</dl>\n";
}

std::string chart_section(const Rows& rows, const std::string& title, const std::string& unit,
                          const std::vector<std::pair<std::string, std::string>>& keys) {
  Chart chart{.title = title, .unit = unit};
  std::string legend;
  for (const auto& [key, name] : keys) {
    const auto found = rows.by_key.find(key);
    if (found == rows.by_key.end()) continue;
    Series series = found->second;
    series.name = name;
    series.dots = series.x.size() <= 60;
    legend += fmt::format("<b class=key{}>{}</b> ", chart.series.size(), escape(name));
    chart.series.push_back(std::move(series));
  }
  if (chart.series.empty()) return {};
  return fmt::format("<section><h2>{}</h2>{}<div class=legend>{} by step{}</div></section>\n", escape(title),
                     render_svg(chart), legend, unit.empty() ? "" : ", in " + unit);
}

}  // namespace

fs::path write_report(const fs::path& run_folder) {
  const Rows rows = read_rows(run_folder / "metrics.jsonl");
  const std::string name = run_folder.lexically_normal().filename().string();
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=en>\n<head><meta charset=utf-8><meta name=viewport content=\"width=device-width, "
      "initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style></head>\n<body>\n<h1>{0}</h1>\n"
      "<a href=\"config/resolved.yaml\">resolved configuration</a>, <a href=\"metrics.jsonl\">metrics</a>\n",
      escape(name), kStyle);
  html += facts(rows, run_folder);
  html += "<div class=charts>\n";
  html += chart_section(rows, "Loss", "nats a token", {{"loss", "training"}, {"val_loss", "validation"}});
  html += chart_section(rows, "Validation loss", "nats a token", {{"val_loss", "validation"}});
  html += chart_section(rows, "Learning rate", "", {{"lr", "learning rate"}});
  html += chart_section(rows, "Gradient norm", "", {{"grad_norm", "before clipping"}});
  html += chart_section(rows, "Throughput", "tokens a second", {{"tokens_per_s", "all ranks"}});
  html += chart_section(rows, "Share of the measured peak", "0 to 1", {{"mfu", "model FLOPs / peak"}});
  html += chart_section(rows, "Memory", "bytes", {{"memory_bytes", "resident, rank 0"}});
  html += "</div>\n</body>\n</html>\n";
  write_file_atomic(run_folder / "report.html", html);
  return run_folder / "report.html";
}

}  // namespace primus::track
