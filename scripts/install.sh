#!/bin/sh
# Install weir: one program, no other file, no root needed. Removing it is `rm`.
#
#	sh install.sh                          # the newest release, into ~/.local/bin, or /usr/local/bin as root
#	sh install.sh --version v1.2.0 --dir ~/bin
#	WEIR_URL=/media/usb/dist sh install.sh # from a directory, or from another server
#
# It downloads two files, compares the SHA-256 of the archive with the list, and runs the program once before it
# replaces an earlier one. It calls no sudo and changes no file of the shell.
set -eu

# Where the files of a release are: SHA256SUMS and the archives. A list from the same place shows damage and not
# malice: for that, `gh attestation verify` proves which commit and workflow built an archive.
releases=https://github.com/weir-bench/weir/releases

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

# get URL FILE
get() {
	case $1 in
	/* | .*) cp "$1" "$2" ;;
	*) if command -v curl >/dev/null; then curl -fsSL -o "$2" "$1"; else wget -q -O "$2" "$1"; fi ;;
	esac || fail "cannot get $1; set WEIR_URL to another server or a directory with the files of a release"
}

# The whole script is read before main runs: an interrupted download of it does nothing.
main() {
	version='' dir=/usr/local/bin
	[ "$(id -u)" = 0 ] || dir=${HOME:?}/.local/bin
	while [ $# -gt 0 ]; do
		case $1 in
		--version | --dir) [ $# -gt 1 ] || fail "$1 needs a value" ;;
		*) fail "unknown argument $1; use --version VERSION and --dir DIR" ;;
		esac
		case $1 in
		--version) version=$2
			case $version in '' | *[!0-9A-Za-z.+-]*) fail "invalid version $version; want one such as v1.2.0" ;; esac ;;
		--dir) dir=$2 ;;
		esac
		shift 2
	done
	url=$releases/latest/download
	[ -z "$version" ] || url=$releases/download/$version
	url=${WEIR_URL:-$url}

	[ "$(uname -s)" = Linux ] || fail "weir needs Linux, and this is $(uname -s)"
	case $(uname -m) in
	x86_64) arch=amd64 ;;
	aarch64) arch=arm64 ;;
	*) fail "there is no release for $(uname -m): build it with Go and make" ;;
	esac

	[ ! -d "$dir/weir" ] || fail "$dir/weir is a directory; move it away, or use --dir DIR"
	mkdir -p "$dir" || fail "cannot make $dir; use --dir DIR"
	# In the same file system as the program, so that it is replaced at once.
	temp=$(mktemp -d "$dir/.weir.XXXXXX") || fail "cannot write to $dir; use --dir DIR"
	trap 'rm -rf "$temp"' EXIT
	trap 'exit 1' HUP INT TERM
	get "$url/SHA256SUMS" "$temp/SHA256SUMS"
	pattern=$(echo "$version" | sed 's/[.+]/[&]/g')
	archive=$(sed -n "s/^[0-9a-f]\{64\}  \(weir-${pattern:-.*}-linux-$arch\.tar\.gz\)\$/\1/p" "$temp/SHA256SUMS" | head -n 1)
	[ -n "$archive" ] || fail "$url has no release ${version:+$version }for linux/$arch"
	get "$url/$archive" "$temp/$archive"
	(cd "$temp" && grep -F "  $archive" SHA256SUMS | sha256sum -c - >/dev/null 2>&1) ||
		fail "$url/$archive is damaged: its SHA-256 is not the one in SHA256SUMS; nothing is installed"
	tar -xzf "$temp/$archive" -C "$temp" "${archive%.tar.gz}/weir" || fail "cannot unpack $archive"
	new=$temp/${archive%.tar.gz}/weir
	said=$("$new" --version) || fail "the program does not run in $dir (noexec?); use --dir DIR"
	mv -f "$new" "$dir/weir" || fail "cannot replace $dir/weir"
	echo "$said is installed as $dir/weir"
	case :$PATH: in
	*":$dir:"*) echo "try: weir run" ;;
	*) echo "try: $dir/weir run    # $dir is not in PATH" ;;
	esac
}

main "$@"
