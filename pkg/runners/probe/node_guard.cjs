// Notes who ends the process, and hands test results of mocha, jest and vitest on.
// It must never change what the program does: everything is caught. Only the assertions are made fast: code
// under test that replaces them would judge itself.
'use strict';
const fs = require('fs');
const path = require('path');
const out = @REPORT@;
const write = (o) => {
  try {
    fs.appendFileSync(out, JSON.stringify({ p: process.pid, ...o }) + '\n');
  } catch { /* the report is best effort */ }
};

function culprit() {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 60;
  const stack = String(new Error().stack).split('\n').slice(1);
  Error.stackTraceLimit = limit;
  for (const l of stack) {
    const m = /(?:\(|^at (?:async )?)((?:file:\/\/)?(?:\/|[A-Za-z]:\\)[^()]*?):(\d+):(\d+)\)?$/.exec(l.trim());
    if (!m || m[1].includes('node_modules') || m[1] === __filename || m[1].includes('/corepack/')) continue;
    return m[1].replace('file://', '') + ':' + m[2] + ':' + m[3];
  }
  return '';
}

try {
  const assert = require('assert');
  Object.freeze(assert.strict);
  Object.freeze(assert);
  Object.freeze(assert.AssertionError);
} catch { /* as above */ }

const exit = process.exit;
process.exit = function (code) {
  const at = culprit();
  if (at) write({ e: 'exit', code: Number(code ?? process.exitCode ?? 0) || 0, at });
  return exit.apply(process, arguments);
};

try {
  const script = process.argv[1] || '';
  const name = path.basename(script);
  const inside = (pkg) => script.includes('/node_modules/' + pkg + '/') || name === pkg || name === pkg + '.js' || name === pkg + '.mjs';
  const jest = @JEST@;
  const vitest = @VITEST@;
  const other = /^(?:--(?:json|outputFile|watch|watchAll|listTests|showConfig|init|version|help|clearCache)(?:=.*)?|-h)$/;
  if (jest && inside('jest') && !process.env.JEST_WORKER_ID && !process.argv.slice(2).some((a) => other.test(a))) {
    process.argv.push('--json', '--outputFile=' + jest + '.' + process.pid);
    write({ e: 'start', tool: 'jest' });
  } else if (vitest && inside('vitest') && !process.env.VITEST_WORKER_ID) {
    process.argv.push('--reporter=default', '--reporter=json', '--outputFile.json=' + vitest + '.' + process.pid);
    write({ e: 'start', tool: 'vitest' });
  }
} catch { /* as above */ }
