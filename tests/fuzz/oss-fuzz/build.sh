#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds the fuzz targets in OSS-Fuzz's image, with the engine and the sanitizer that it asks for. The
# image of the fuzzers has no libraries of ours, so they are copied next to them.
set -euo pipefail

meson setup build -Dbpf=disabled -Db_lundef=false -Dfuzz_engine="$LIB_FUZZING_ENGINE"
# shellcheck disable=SC2046 # words
ninja -C build tests/modules/alpha.so $(for path in tests/corpus/*; do echo "tests/fuzz/fuzz-${path##*/}"; done)
mkdir -p "$OUT/lib" "$OUT/modules"
cp build/tests/modules/alpha.so "$OUT/modules"
for path in tests/corpus/*; do
        target=fuzz-${path##*/}
        cp "build/tests/fuzz/$target" "$OUT"
        zip -qj "$OUT/${target}_seed_corpus.zip" "$path"/*
        ldd "$OUT/$target" | awk '$3 ~ /^(\/usr)?\/lib\/.*(glib|gmodule|systemd|lzma|zstd|cgroup|cpupower|pcre|cap|gcrypt|gpg|lz4)/ { print $3 }' |
                xargs -r cp -nLt "$OUT/lib"
        # shellcheck disable=SC2016 # the loader's; as DT_RPATH it is for libraries of libraries, too
        patchelf --force-rpath --set-rpath '$ORIGIN/lib' "$OUT/$target"
done
