#!/bin/sh
# Installs a release of kibus for the current user, without sudo: downloads the archive for this platform, checks its
# SHA-256 sum, and puts `kibus` into a folder.
#
#   sh install.sh
#
# KIBUS_INSTALL_DIR   folder for the binary [default: ~/.local/bin]
# KIBUS_VERSION       version to install [default: the release of this script]
# KIBUS_BASE_URL      folder with the archive and its sum [default: that release on GitHub]
set -eu

# Ends without an installation: what failed and why, then the next step.
fail() {
  printf 'error: %s. Nothing was installed.\n%s\n' "$1" "$2" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# Prints the target of the archive for this platform.
platform() {
  system=$(uname -s) machine=$(uname -m)
  case $system-$machine in
    Linux-x86_64) target=x86_64-unknown-linux-gnu ;;
    Linux-aarch64) target=aarch64-unknown-linux-gnu ;;
    Darwin-x86_64) target=x86_64-apple-darwin ;;
    Darwin-arm64) target=aarch64-apple-darwin ;;
    *)
      fail "there is no kibus for $system on $machine, only for Linux and macOS on x86_64 and arm64" \
        "Build it from source: see \"Install\" in the README."
      ;;
  esac
  # The program `ldd` of musl fails and names it.
  if [ "$system" = Linux ] && has ldd && ldd --version 2>&1 | grep -qi musl; then
    fail "this Linux has musl, as Alpine does, and kibus needs glibc 2.17 or newer" \
      "Run kibus on a distribution with glibc, or in its container image."
  fi
  echo "$target"
}

# download FILE FOLDER
download() {
  if has curl; then
    case $base_url in https://*) schemes='=https' ;; *) schemes='=http,https' ;; esac
    curl --proto "$schemes" --tlsv1.2 --fail --silent --show-error --location --output "$2/$1" "$base_url/$1"
  else
    wget -q -O "$2/$1" "$base_url/$1"
  fi || fail "\`$base_url/$1\` could not be downloaded" "Check the network and KIBUS_VERSION ($version), and run the script again."
}

# Prints the SHA-256 sum of a file.
sum_of() {
  if has sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# Ends if the place of installation holds something that must not be overwritten.
check_place() {
  next="Move it away, or set KIBUS_INSTALL_DIR to another folder."
  if [ -L "$1" ]; then
    fail "\`$1\` is a symbolic link, so another installer put it there" \
      "Upgrade with that installer, such as \`pipx upgrade kibus\`, or set KIBUS_INSTALL_DIR to another folder."
  elif [ -d "$1" ]; then
    fail "\`$1\` is a folder" "$next"
  elif [ -e "$1" ]; then
    case $("$1" --version </dev/null 2>/dev/null || true) in
      'kibus '*) ;;
      *) fail "\`$1\` is a file that is not kibus" "$next" ;;
    esac
  fi
}

# A function, so that a script of which only a part arrived does nothing.
main() {
  version=${KIBUS_VERSION:-@VERSION@}
  base_url=${KIBUS_BASE_URL:-@REPOSITORY@/releases/download/v$version}
  case $version$base_url in
    # Without the last sign, so that a release does not fill these in too.
    *@VERSION* | *@REPOSITORY*)
      fail "this script is not from a release" "Set KIBUS_VERSION and KIBUS_BASE_URL, or take the script from a release."
      ;;
  esac
  base_url=${base_url%/}
  [ -n "${KIBUS_INSTALL_DIR:-}${HOME:-}" ] || fail "neither HOME nor KIBUS_INSTALL_DIR is set" "Set KIBUS_INSTALL_DIR to a folder."
  folder=${KIBUS_INSTALL_DIR:-$HOME/.local/bin}
  case $folder in /*) ;; *) folder=$PWD/$folder ;; esac

  for tool in chmod cp cut grep mkdir mktemp mv rm tar gzip uname; do
    has "$tool" || fail "the program \`$tool\` is missing" "Install it, and run the script again."
  done
  has curl || has wget || fail "the programs \`curl\` and \`wget\` are missing" "Install one, and run the script again."
  has sha256sum || has shasum ||
    fail "the programs \`sha256sum\` and \`shasum\` are missing" "Install one, and run the script again."
  target=$(platform)
  check_place "$folder/kibus"

  work=$(mktemp -d) staged=
  trap 'rm -rf "$work" "$staged"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  archive=kibus-$version-$target.tar.gz
  download "$archive" "$work"
  download "$archive.sha256" "$work"
  expected=$(cut -d ' ' -f 1 <"$work/$archive.sha256")
  found=$(sum_of "$work/$archive")
  [ "$found" = "$expected" ] || fail "the SHA-256 sum of \`$base_url/$archive\` is $found, but should be $expected" \
    "Run the script again. If the sum is wrong again, report it and do not use the file."
  tar -xzf "$work/$archive" -C "$work" "kibus-$version-$target/kibus" ||
    fail "\`$base_url/$archive\` has no kibus in it" "Report it, and do not use the file."

  # Copied beside its place and started there, so that a file that cannot run replaces nothing.
  mkdir -p "$folder" || fail "\`$folder\` could not be created" "Set KIBUS_INSTALL_DIR to another folder."
  staged=$folder/.kibus.$$
  { cp "$work/kibus-$version-$target/kibus" "$staged" && chmod 755 "$staged"; } ||
    fail "\`$folder\` could not be written" "Set KIBUS_INSTALL_DIR to another folder."
  found=$("$staged" --version </dev/null 2>&1) || fail "kibus $version does not start on this machine: $found" \
    "Build it from source: see \"Install\" in the README."
  [ "$found" = "kibus $version" ] || fail "the file of version $version says that it is $found" "Report it, and do not use the file."
  mv -f "$staged" "$folder/kibus"

  echo "Installed kibus $version: $folder/kibus"
  case $(command -v kibus || true) in
    "$folder/kibus") ;;
    '') printf '%s\n' "The folder is not on PATH. Add this line to the profile of your shell:" "  export PATH=\"$folder:\$PATH\"" ;;
    *) echo "Another kibus is before it on PATH: $(command -v kibus)" ;;
  esac
}

main
