#!/bin/sh
# Runs a test binary for "go test -exec" and notes what it can list and how it ended.
out=@REPORT@
case "$1" in
*.test | *.test.exe) ;;
*) exec "$@" ;;
esac
pattern=.
# The testing package writes a memory profile when the last test has ended: a binary that exits 0 without
# one was ended by the code under test (syscall.Exit; os.Exit is noticed by the package itself).
end=$out.$$.mem
for a in "$@"; do
	case "$a" in
	-test.run=*) pattern=${a#-test.run=} pattern=${pattern%%/*} ;;
	-test.list=* | -test.fuzz=*) exec "$@" ;;
	-test.memprofile=*) end= ;;
	esac
done
bin=$1
names=$("$bin" "-test.list=${pattern:-.}" </dev/null 2>/dev/null | grep -cE '^(Test|Example|Fuzz)')
if [ "$names" = 0 ]; then
	# A binary that gets as far as its flags refuses one that it does not know.
	"$bin" -test.legwork=1 </dev/null >/dev/null 2>&1
	[ $? = 2 ] || names=lost
fi
printf 'start\t%s\t%s\t%s\n' "$$" "$names" "$PWD" >>"$out"
if [ -n "$end" ]; then
	shift
	set -- "$bin" "-test.memprofile=$end" "$@"
fi
"$@"
code=$?
if [ -n "$end" ] && [ "$code" = 0 ] && [ ! -s "$end" ]; then
	exit 0 # no finish line: the tests did not run to their end
fi
[ -z "$end" ] || rm -f "$end"
printf 'finish\t%s\t%s\n' "$$" "$code" >>"$out"
exit $code
