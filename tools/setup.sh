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

apt_install() {
        apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy \
                --no-install-recommends "$@"
}

# install_missing KIND...: the packages of these kinds in tools/packages.
install_missing() {
        local kinds missing=() package
        kinds=$(IFS='|'; echo "$*")
        for package in $(sed -nE "s/^($kinds): //p" "$top/tools/packages"); do
                dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
                        missing+=("$package")
        done
        [ ${#missing[@]} -gt 0 ] || return 0
        [ "$(id -u)" = 0 ] || die "please install: ${missing[*]}"
        say "installing ${missing[*]}"
        noisily apt_install "${missing[@]}" || die "the packages could not be installed"
}

# Shows that something goes on: the newest line on a terminal, else one every ten seconds.
progress() {
        local line last=$SECONDS
        while IFS= read -r line; do
                if [ -t 1 ]; then
                        printf '\r\033[K        %.90s' "$line"
                elif ((SECONDS - last >= 10)); then
                        printf '        %.90s\n' "$line"
                        last=$SECONDS
                fi
        done
        [ ! -t 1 ] || printf '\r\033[K'
}

# noisily COMMAND...: its output is shown as progress, and whole if it fails.
noisily() {
        local log rc=0
        log=$(mktemp)
        "$@" 2>&1 | tee "$log" | progress || rc=1
        [ $rc = 0 ] || cat "$log" >&2
        rm -f "$log"
        return $rc
}

# build DIR MESON-OPTION...: configures once, then builds what changed.
build() {
        local dir=$1
        shift
        [ -e "$dir/build.ninja" ] || noisily meson setup "$dir" "$top" "$@" || die "meson setup failed"
        say "building in ${dir#"$top"/}"
        noisily ninja -C "$dir" || die "the build failed"
}
