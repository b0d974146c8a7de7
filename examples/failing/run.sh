#!/bin/sh
# A test run that is long, noisy and red: what the README's first command reads. It uses nothing but
# sh and awk, so it runs on a machine without any test runner.
exec awk 'BEGIN {
  print "TAP version 13"
  n = 180
  for (i = 1; i <= n; i++) {
    printf "[worker %d] connected to queue orders-%02d in %d ms\n", i % 4 + 1, i % 16, (i * 37) % 90
    if (i == 117) {
      print "not ok 117 - invoice: rounds half a cent up"
      print "  ---"
      print "  operator: equal"
      print "  expected: \"10.13\""
      print "  actual:   \"10.12\""
      print "  at: Test.<anonymous> (test/invoice.test.js:42:7)"
      print "  ..."
    } else printf "ok %d - case %03d holds\n", i, i
  }
  printf "1..%d\n# tests %d\n# pass  %d\n# fail  1\n", n, n, n - 1
  exit 1
}'
