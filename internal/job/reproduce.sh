#!/bin/sh
# Check this package, measure its studies again on this machine, and say claim by claim what still holds and how the machines
# differ. It needs Linux, and nothing else. Arguments are those of weir reproduce: -o DIR, --fast, --runs N, --sum SHA256, or
# --all, which adds the published claims that weir knows and the package does not have.
case $0 in
*/*) here=${0%/*} ;;
*) here=. ;;
esac
if command -v sha256sum >/dev/null 2>&1; then # before a program of this package runs
	said=$(cd "$here" && sha256sum -c SHA256SUMS 2>/dev/null) || {
		echo "$said" | while IFS= read -r line; do
			case $line in
			*': OK') ;;
			*) echo "reproduce: $line" >&2 ;;
			esac
		done
		echo "reproduce: this package was changed; get it again" >&2
		exit 1
	}
fi
for weir in "$here"/bin/weir-*; do
	if "$weir" version >/dev/null 2>&1; then
		exec "$weir" reproduce "$here" "$@"
	fi
done
echo "reproduce: no program in $here/bin runs on this machine; with one that does: weir reproduce $here" >&2
exit 3
