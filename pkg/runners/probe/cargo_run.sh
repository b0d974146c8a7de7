#!/bin/sh
# Runs a test binary for cargo and compares what it lists with what it logs.
out=@REPORT@
plain() { exec "$@"; }
case "$1" in
*/deps/*) ;;
*) plain "$@" ;;
esac
pretty=--format=pretty # a quiet run lists without the summary that is looked for
for a in "$@"; do
	case "$a" in
	--format*) pretty= ;;
	--list | --logfile* | --help | -h | --bench) plain "$@" ;;
	esac
done
listed=$("$@" --list $pretty </dev/null 2>/dev/null)
case "$listed" in
*" benchmarks" | *" benchmark") ;;
"")
	printf 'start\t%s\tlost\t%s\n' "$$" "$1" >>"$out"
	"$@"
	code=$?
	printf 'finish\t%s\t%s\n' "$$" "$code" >>"$out"
	exit $code
	;;
*) plain "$@" ;; # a harness of its own
esac
names=$(printf '%s\n' "$listed" | grep -c ': test$')
log=$out.$$
printf 'start\t%s\t%s\t%s\n' "$$" "$names" "$1" >>"$out"
"$@" --logfile "$log"
code=$?
if [ -f "$log" ]; then
	sed "s/^/test	$$	/" "$log" >>"$out"
	rm -f "$log"
fi
printf 'finish\t%s\t%s\n' "$$" "$code" >>"$out"
exit $code
