#!/usr/bin/env bash
# What the tests need from Debian: installed where that is possible, named where it is not.
set -euo pipefail
missing=()
command -v chromium >/dev/null || missing+=(chromium)
command -v bwrap >/dev/null || missing+=(bubblewrap)
ldconfig -p 2>/dev/null | grep -q libseccomp.so.2 || [ -e /usr/lib/*/libseccomp.so.2 ] || missing+=(libseccomp2)
compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || missing+=(postgresql)
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # Tests start a server of their own; Debian's package would start another one.
    mkdir -p /etc/postgresql-common && [ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null && exit 0
fi
echo "The tests need these Debian packages: ${missing[*]}. Install them with: sudo apt-get install ${missing[*]}" >&2
exit 1
