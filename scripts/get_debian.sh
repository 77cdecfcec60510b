#!/bin/sh
# Installs Debian packages whose command, or file, is missing: get_debian.sh PACKAGE[:COMMAND]...
# Without the right to do so it says what to install, and fails. Running it again is cheap.
set -eu

missing=
for wanted in "$@"; do
    command -v "${wanted#*:}" >/dev/null || [ -e "${wanted#*:}" ] || missing="$missing ${wanted%%:*}"
done
[ -n "$missing" ] || exit 0
missing=${missing# }

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "get_debian: needed and not here: $missing. On Debian: sudo apt-get install $missing" >&2
    exit 1
fi

# Nothing is to be started: Debian asks this file before it starts a service.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  # package names, one word each
said=$(
    exec 2>&1
    apt-get update -qq && apt-get install -qq -y --no-install-recommends $missing
) || {
    echo "get_debian: $missing could not be installed: $said" >&2
    exit 1
}
