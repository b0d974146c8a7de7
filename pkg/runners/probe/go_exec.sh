#!/bin/sh
# Runs a test binary for "go test -exec" and notes what it can list and how it ended.
out=@REPORT@
case "$1" in
*.test | *.test.exe) ;;
*) exec "$@" ;;
esac
pattern=.
for a in "$@"; do
	case "$a" in
	-test.run=*) pattern=${a#-test.run=} pattern=${pattern%%/*} ;;
	-test.list=* | -test.fuzz=*) exec "$@" ;;
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
"$@"
code=$?
printf 'finish\t%s\t%s\n' "$$" "$code" >>"$out"
exit $code
