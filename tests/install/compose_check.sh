#!/usr/bin/env bash
# Runs every line of docker-compose.yml's inline Dockerfile, and its health check, in a Debian
# chroot, as the user the file names. For machines where no container engine runs.
#
# Prints a table of lines with their outcome and seconds; exits 1 when one failed. What it cannot
# show: the engine's own networks, volumes and resource limits.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/install/chroot.sh
need_root

work=$(mktemp -d)
root=$work/debian
space=rmcheck$$
running=
end() {
    [ -z "$running" ] || kill -KILL "$running" 2>/dev/null
    ip netns del "$space" 2>/dev/null
    rm -rf --one-file-system "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

# The instructions, one a line, with continued lines joined.
instructions() {
    awk '/dockerfile_inline: \|/ { inside = 1; next }
         inside && /^      [A-Z ]/ { print substr($0, 7); next }
         inside { exit }' docker-compose.yml | sed -e ':a' -e '/\\$/N; s/\\\n *//; ta'
}

# A JSON list of a key, anywhere under a line that begins with another key, as shell words.
words_of() { # section, key
    python3 - "$1" "$2" <<'PYTHON'
import json, re, shlex, sys
text = open("docker-compose.yml", encoding="utf-8").read()
section, key = sys.argv[1:]
after = re.search(rf"^ *{section}:.*?^ *{key}: (\[.*?\])$", text, re.M | re.S)
words = json.loads(after.group(1))
print(shlex.join(words[1:] if words[0] == "CMD" else words))
PYTHON
}

user=root directory=/ environment=
failed=0
table=$work/table
row() { # outcome, seconds, what
    printf '%-6s %5s s  %s\n' "$1" "$2" "$(printf '%s' "$3" | cut -c1-78)" >>"$table"
    [ "$1" = ok ] || failed=1
}
timed() { # what, command...
    local began=$SECONDS what=$1
    shift
    say "-- $what"
    if "$@" >"$work/log" 2>&1; then row ok $((SECONDS - began)) "$what"; else
        row FAILED $((SECONDS - began)) "$what"
        cat "$work/log" >&2
        return 1
    fi
}
copy() { # sources..., target folder; what is committed, as a fresh clone has it
    local target=$root${*: -1}
    mkdir -p "$target"
    for source in "${@:1:$#-1}"; do
        # A folder's contents go into the target; a file goes below it.
        if [ -d "$source" ]; then
            git archive "HEAD:$source" | tar -x -C "$target"
        else
            git archive HEAD "$source" | tar -x -C "$target"
        fi
    done
}

while read -r instruction rest; do
    what="$instruction $rest"
    case $instruction in
    FROM)
        suite=$(printf '%s' "$rest" | sed 's/^debian:\([a-z]*\)-slim$/\1/')
        timed "$what" make_debian "$root" apt || break ;;
    RUN) timed "$what" inside "$root" "$user" "$directory" "$environment" "$rest" || break ;;
    # shellcheck disable=SC2086 # the instruction's own words
    COPY) timed "$what" copy $rest || break ;;
    ENV) environment="$environment $rest"; row ok 0 "$what" ;;
    USER) user=$rest; timed "$what" inside "$root" root / "" "id $rest" || break ;;
    WORKDIR) directory=$rest; timed "$what" inside "$root" "$user" / "" "cd $rest" || break ;;
    VOLUME) timed "$what" inside "$root" "$user" / "" "touch $rest/.w && rm $rest/.w" || break ;;
    EXPOSE) row ok 0 "$what" ;;
    *) row FAILED 0 "$what (not understood)" ;;
    esac
done < <(instructions)

# The node alone in a network of its own, with the file's own command and health check.
serve() { # service
    local command health began=$SECONDS
    command=$(words_of "$1" command)
    health=$(words_of healthcheck test)
    ip netns add "$space" && ip -n "$space" link set lo up
    nsenter --net="/run/netns/$space" bash -c '. tests/install/chroot.sh; inside "$@"' - \
        "$root" "$user" "$directory" "$environment" "exec $command" >"$work/node.log" 2>&1 &
    running=$!
    while ! nsenter --net="/run/netns/$space" bash -c '. tests/install/chroot.sh; inside "$@"' - \
        "$root" "$user" "$directory" "$environment" "$health" >"$work/log" 2>&1; do
        if [ $((SECONDS - began)) -gt 30 ] || ! kill -0 "$running" 2>/dev/null; then
            tail -n 20 "$work/node.log" "$work/log"
            return 1
        fi
        sleep 1
    done
    # A stop is a drain with exit status 0, within the grace that the file gives.
    pkill -TERM -P "$running" -f roommesh || pkill -TERM -P "$running"
    timeout 20 tail --pid="$running" -f /dev/null
    wait "$running"
    local status=$?
    running=
    ip netns del "$space"
    [ "$status" -eq 0 ] || { echo "exit status $status after SIGTERM"; tail "$work/node.log"; }
    return "$status"
}
if [ "$failed" -eq 0 ]; then
    for service in desk friend; do
        timed "$service: command, health check as $user, stop" serve "$service" || break
    done
fi

echo
cat "$table"
[ "$failed" -eq 0 ] && echo "every line ran" || echo "a line failed"
exit "$failed"
