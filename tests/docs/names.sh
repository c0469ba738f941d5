#!/usr/bin/env bash
# What the documents name is there: files in `...`, targets of links, tests; and the counts are those of the parameter table.
set -u
cd "${PRIMUS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}" || exit 1
bad=0
complain() {
  echo "$1"
  bad=1
}

mapfile -t pages < <(find README.md docs src/primus -name '*.md' | sort)
for page in "${pages[@]}"; do
  # `src/...`, `tests/...`, `docs/...`, `tools/...`, `examples/...`, `primus/configs/...`, `data/...`: files or folders
  while read -r name; do
    case $name in *'*'* | *'<'* | *'{'* | data/prepared*) continue ;; esac
    [ -e "$name" ] || complain "$page names $name, which is not there"
  done < <(grep -o '`\(src\|tests\|docs\|tools\|examples\|primus/configs\|cmake\|apps\|bench\)/[^` ]*`' "$page" | tr -d '`' | sed 's/[:.,;]*$//' | sort -u)
  # links to files of the repository
  while read -r link; do
    case $link in http*) continue ;; esac
    [ -e "$(dirname "$page")/${link%%#*}" ] || complain "$page links to $link, which is not there"
  done < <(grep -o '](\([^)#]*\)' "$page" | sed 's/^](//' | grep -v '^$')
  if LC_ALL=C grep -n '[^ -~]' "$page" | grep -v "$(printf '\t')" | head -3 | grep -q .; then complain "$page is not plain ASCII"; fi
done

# Each room has its page.
for room in src/primus/*/; do [ -f "$room/README.md" ] || complain "$room has no README.md"; done

# Rows of status.md that work name a test.
grep '| works' docs/status.md | grep -v '`tests/' && complain "docs/status.md: a row that works names no test"

# Counts per status: one row a framework, in the order of the page's own table.
for page in docs/parameters/*.md; do
  framework=$(basename "$page" .md)
  row="| $framework |$(awk -F'|' '/^\| (honoured|no effect here|not built yet|refused) \| +[0-9]/ { gsub(/ /, "", $3); printf " %s |", $3 }' "$page")"
  grep -qxF "$row" docs/status.md || complain "docs/status.md has no row '$row', as $page counts"
done

exit $bad
