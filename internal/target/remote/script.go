package remote

// Script is for `sh -c`: it receives this program on standard input, from Dial with push, and
// becomes its agent. It is one line of POSIX shell without single quotes and exclamation marks, so
// that '…' quotes it in every login shell, csh and fish included.
//
// It talks in lines, each of which waits for the other side: no program that reads too much from
// standard input can swallow what is not its own. The near end sends a nonce; the script answers
// with its architecture; the near end sends the size and the cksum(1) of the program; the script
// finds a directory with room for it where programs can run; the near end sends the program; the
// script checks it and becomes it. Lines of the script begin with "weir-bootstrap" and the nonce, so
// that nothing else can be taken for one. The directory is new and named after the nonce, which
// nobody can guess: that is as private as mktemp(1), which not every machine has.
const Script = `umask 077; set -f; t=; ` +
	// A pod whose weir was killed before it attached must not wait until the deadline of its Job. dash's
	// read knows no time, and fails with another status.
	`w=; (read -t 9 n) < /dev/null 2> /dev/null; [ $? -gt 1 ] || w="-t 600"; ` +
	`IFS= read -r $w n || exit 1; ` +
	`say() { printf "weir-bootstrap %s %s\n" "$n" "$*"; }; ` +
	`gone() { [ -z "$t" ] || rm -rf "$t"; exit 1; }; ` +
	`fail() { set -- $*; say "$@"; gone; }; ` + // unquoted: one line
	`trap gone HUP INT PIPE TERM; ` +
	`for c in chmod head mkdir rm uname wc; do command -v $c > /dev/null || fail tool $c; done; ` +
	`say machine "$(uname -m)"; ` +
	`read -r $w size sum || exit 1; ` +
	// try tries a directory: 1 to make one in it, 2 to fill a file, 3 to run it. $e is the reason.
	`try() { ` +
	`e=$(mkdir "$1/weir-$n" 2>&1) || return 1; ` +
	`t=$1/weir-$n; ` +
	`if e=$({ head -c $size /dev/zero > "$t/weir"; } 2>&1) && [ $(wc -c < "$t/weir") -eq $size ]; then ` +
	`e=$({ echo exit 0 > "$t/weir" && chmod 700 "$t/weir" && "$t/weir"; } 2>&1) && return 0; ` +
	`e="programs cannot run there (noexec?): $e"; ` +
	`else e="no room for $size bytes: $e"; fi; ` +
	`rm -rf "$t"; t=; return 1; }; ` +
	`why=; for d in "$XDG_RUNTIME_DIR" "$TMPDIR" /tmp /var/tmp /dev/shm "${HOME:+$HOME/.cache}"; do ` +
	`case $d in /*) try "$d" && break; why="$why; $d: $e";; esac; done; ` +
	`[ -n "$t" ] || fail directory "${why#; }"; ` +
	`say into "$t"; ` +
	// Without timeout(1), a wire that is cut in this moment leaves a shell and a file behind.
	`w=; timeout 9 true 2> /dev/null && w="timeout 600"; ` +
	`e=$({ $w head -c $size > "$t/weir"; } 2>&1) || fail copy "$t: $e"; ` +
	`got=$(wc -c < "$t/weir"); [ $got -eq $size ] || fail copy "$t: $got bytes of $size arrived"; ` +
	`got=$(cksum < "$t/weir" 2> /dev/null) && [ "${got%% *}" -ne $sum ] && fail copy "$t: the checksum is wrong"; ` +
	`e=$("$t/weir" --version 2>&1 < /dev/null) || fail start "$t/weir: $e"; ` +
	`say ready; ` +
	`exec "$t/weir" agent --remove "$t"`
