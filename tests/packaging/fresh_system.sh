# What the scripts that run on a fresh system share.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/use_parts.sh"

install() {
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends --allow-downgrades \
    -o Dpkg::Use-Pty=0 "$@" >/root/apt.log 2>&1 || { tail -n 40 /root/apt.log; fail "apt-get install $*"; }
}
