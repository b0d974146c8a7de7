// A reporter for Playwright, beside the user's own.
'use strict';
const fs = require('fs');
const out = @REPORT@;
const write = (o) => {
  try {
    fs.appendFileSync(out, JSON.stringify({ p: process.pid, ...o }) + '\n');
  } catch { /* best effort */ }
};
module.exports = class {
  onBegin(config, suite) {
    write({ e: 'start' });
    write({ e: 'plan', n: suite.allTests().length });
  }
  onTestEnd(test, result) {
    const states = { expected: 'passed', flaky: 'passed', skipped: 'skipped', unexpected: 'failed' };
    if (result.status !== 'skipped' && test.outcome() === 'unexpected' && result.retry < test.retries) return;
    write({ e: 'test', id: test.titlePath().filter(Boolean).slice(1).join(' > '), o: states[test.outcome()] || 'failed', f: test.location.file });
  }
  onEnd() {
    write({ e: 'finish' });
  }
  printsToStdio() {
    return false;
  }
};
