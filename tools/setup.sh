# SPDX-License-Identifier: LGPL-2.1-or-later
# For tools/check and tools/run: say where we are, install what is missing, build.
# shellcheck shell=bash

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LC_ALL=C.UTF-8

say() {
        printf '[%4ds] %s\n' "$SECONDS" "$*"
}

die() {
        printf '%s: %s\n' "${0##*/}" "$*" >&2
        exit 1
}

# install_missing KIND...: the packages of these kinds in tools/packages.
install_missing() {
        local kinds missing=() package log
        kinds=$(IFS='|'; echo "$*")
        for package in $(sed -nE "s/^($kinds): //p" "$top/tools/packages"); do
                dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
                        missing+=("$package")
        done
        [ ${#missing[@]} -gt 0 ] || return 0
        [ "$(id -u)" = 0 ] || die "please install: ${missing[*]}"
        say "installing ${missing[*]}"
        log=$(mktemp)
        { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy \
                --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 ||
                { cat "$log" >&2; die "the packages could not be installed"; }
        rm -f "$log"
}

# build DIR MESON-OPTION...: configures once, then builds what changed.
build() {
        local dir=$1 log
        shift
        log=$(mktemp)
        [ -e "$dir/build.ninja" ] || meson setup "$dir" "$top" "$@" >"$log" 2>&1 ||
                { cat "$log" >&2; die "meson setup failed"; }
        say "building in ${dir#"$top"/}"
        ninja -C "$dir" >"$log" 2>&1 || { cat "$log" >&2; die "the build failed"; }
        rm -f "$log"
}
