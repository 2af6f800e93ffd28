#!/usr/bin/env bash
# README's commands on a fresh machine: Debian with only python3 and git, in a chroot, as root and
# as an ordinary user; once with make and venv, once without either.
#
# Runs the lines that stand in README.md, in a clone of HEAD, at a terminal; measures the seconds
# from the first line to the first answer of the demo's page. Prints a table; exits 1 when a row
# failed or took longer than 3 minutes. Arguments choose rows by their number.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/install/chroot.sh
need_root

limit_s=180
work=$(mktemp -d)
running=
end() {
    [ -z "$running" ] || kill -KILL "$running" 2>/dev/null
    rm -rf --one-file-system "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

# The lines of the code block under a marker in README.md, as one command line.
readme() { # marker
    awk -v marker="<!-- fresh machine: $1 -->" '
        $0 == marker { wanted = 1; next }
        wanted && /^```sh/ { inside = 1; next }
        inside && /^```/ { exit }
        inside { printf "%s%s", separator, $0; separator = " && " }' README.md
}

base() { # name, packages: the machine, made once; with the project to clone and a visitor
    make_debian "$work/$1" "$2" >"$work/$1.log" 2>&1 || { cat "$work/$1.log"; return 1; }
    git bundle create -q "$work/$1/srv/roommesh" HEAD
    chroot "$work/$1" useradd --create-home --home-dir /srv/visitor --shell /bin/sh visitor
}

fresh() { # base: a copy nobody has touched
    rm -rf --one-file-system "$work/now"
    cp -a "$work/$1" "$work/now"
}

table=$work/table
failed=0
row() { # number, outcome, seconds, what
    printf '%-3s %-7s %5s s  %s\n' "$1" "$2" "$3" "$4" | tee -a "$table" >&2
    [ "$2" = ok ] || failed=1
}
chosen() { [ -z "$wanted" ] || [[ " $wanted " == *" $1 "* ]]; }
wanted="$*"

visit() { # user: a clone in that user's home
    local home
    home=$(sed -n "s/^$1:.*:\([^:]*\):[^:]*$/\1/p" "$work/now/etc/passwd")
    inside "$work/now" "$1" "$home" "" \
        "git -c advice.detachedHead=false clone -q /srv/roommesh roommesh" || return 1
    clone=$home/roommesh
}

# Start a line at a terminal, as a person would, and wait for the page that it tells of.
until_page() { # number, user, line, what
    local log=$work/log.$1 address='' began=$SECONDS
    visit "$2" || { row "$1" FAILED 0 "$4: git clone"; return; }
    began=$SECONDS
    : >"$log"
    export -f inside settings
    export work clone user=$2 line=$3
    script --quiet --flush --return --command \
        'exec bash -c '\''inside "$work/now" "$user" "$clone" "" "$line"'\' "$log" \
        </dev/null >/dev/null 2>&1 &
    running=$!
    while [ $((SECONDS - began)) -le "$limit_s" ] && kill -0 "$running" 2>/dev/null; do
        address=$(grep -aoE 'http://(127\.0\.0\.1|localhost):[0-9]+' "$log" | head -n 1)
        if [ -n "$address" ] && answers "$address/"; then
            row "$1" ok $((SECONDS - began)) "$4"
            stop_demo
            return
        fi
        sleep 0.5
    done
    row "$1" FAILED $((SECONDS - began)) "$4"
    tail -n 30 "$log" >&2
    stop_demo
}
answers() {
    python3 -c 'import sys, urllib.request as r; r.urlopen(sys.argv[1], timeout=3)' "$1" 2>/dev/null
}
stop_demo() {
    kill -TERM "$running" 2>/dev/null
    timeout 15 tail --pid="$running" -f /dev/null || kill -KILL "$running"
    running=
}

full=git,python3,python3-venv,make
bare=git,python3

if chosen 1 || chosen 2; then base full "$full" || exit 1; fi
if chosen 1; then
    fresh full
    until_page 1 visitor "$(readme make)" "user, make, venv: make demo"
fi
if chosen 2; then
    fresh full
    until_page 2 root "$(readme make)" "root, make, venv: make demo"
fi

if chosen 3 || chosen 4 || chosen 5 || chosen 6; then base bare "$bare" || exit 1; fi
if chosen 3; then
    fresh bare
    until_page 3 root "$(readme venv) && $(readme 'no make')" "root, neither: README's lines"
fi
if chosen 4; then
    fresh bare
    inside "$work/now" root / "" "$(readme venv)" >/dev/null 2>&1
    until_page 4 visitor "$(readme 'no make')" "user, neither; root installs venv: README's lines"
fi
if chosen 5; then
    fresh bare
    inside "$work/now" root / "" "apt-get update && apt-get install -y make" >/dev/null 2>&1
    until_page 5 root "$(readme make)" "root, make but no venv: make demo installs it"
fi
if chosen 6; then
    fresh bare
    inside "$work/now" root / "" "apt-get update && apt-get install -y make" >/dev/null 2>&1
    visit visitor
    began=$SECONDS
    inside "$work/now" visitor "$clone" "" "$(readme make)" >"$work/log.6" 2>&1
    status=$?
    what="user, make but no venv: the line to type, and exit status 2 (make says: $status)"
    if [ "$status" -eq 2 ] && grep -q "apt-get install -y python3-venv" "$work/log.6"; then
        row 6 ok $((SECONDS - began)) "$what"
    else
        row 6 FAILED $((SECONDS - began)) "$what"
        cat "$work/log.6" >&2
    fi
fi

echo
cat "$table"
[ "$failed" -eq 0 ] && echo "all rows ok" || echo "a row failed"
exit "$failed"
