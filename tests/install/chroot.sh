# Debian in a folder: what compose_check.sh and fresh_machine.sh share. Sourced, not run.
#
# Needs root and mmdebstrap. The folder gets this machine's own settings for packages (apt's
# sources, pip's and npm's configuration, certificates, name service), copied as they are: a
# registry's host stands in no file of the repository.

suite=bookworm

say() { printf '%s\n' "$*" >&2; }

need_root() {
    [ "$(id -u)" -eq 0 ] || { say "run as root: a chroot needs it"; exit 2; }
    command -v mmdebstrap >/dev/null || {
        say "mmdebstrap is missing: apt-get install -y mmdebstrap"
        exit 2
    }
}

apt_sources() { # the files with this machine's own Debian archives
    find /etc/apt/sources.list /etc/apt/sources.list.d -type f 2>/dev/null |
        xargs -r grep -lE "/debian(-security)?/?( |\$)"
}

make_debian() { # folder, packages separated by commas
    local sources
    sources=$(apt_sources)
    # shellcheck disable=SC2086 # one word per file
    mmdebstrap --quiet --variant=minbase --include="$2" "$suite" "$1" $sources
    cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
    mkdir -p "$1/etc/ssl" "$1/etc/xdg"
    # Beside the folder's own bundle, which its packages write anew.
    cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/this-machine.crt"
    [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$1/etc/"
    [ ! -d /etc/xdg/pip ] || cp -r /etc/xdg/pip "$1/etc/xdg/"
}

settings() { # what the network needs of this machine, as NAME=VALUE words
    env | grep -iE '^(https?_proxy|no_proxy|PIP_INDEX_URL|PIP_DEFAULT_TIMEOUT)=' | tr '\n' ' '
    for name in PIP_CERT SSL_CERT_FILE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS; do
        printf '%s=/etc/ssl/this-machine.crt ' "$name"
    done
}

inside() { # folder, user, working directory, extra NAME=VALUE words, command line
    local folder=$1 user=$2 directory=$3 extra=$4 line=$5
    # Its own mounts and processes: all of them are gone when the command ends.
    unshare --mount --pid --fork --kill-child sh -c '
        mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/tmp"
        chmod 1777 "$1/tmp"
        home=$(sed -n "s/^$2:.*:\([^:]*\):[^:]*$/\1/p" "$1/etc/passwd")
        exec chroot --userspec="$2:$2" "$1" /usr/bin/env -i HOME="$home" TERM=xterm \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            $4 /bin/sh -c "cd \"\$1\" && $5" sh "$3"
    ' sh "$folder" "$user" "$directory" "$(settings) $extra" "$line"
}
