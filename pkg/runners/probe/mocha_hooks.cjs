// Root hooks for mocha: one line a test, one when all are through.
'use strict';
const fs = require('fs');
const out = @REPORT@;
const write = (o) => {
  try {
    fs.appendFileSync(out, JSON.stringify({ p: process.pid, ...o }) + '\n');
  } catch { /* best effort */ }
};
write({ e: 'start' });
const states = { passed: 'passed', failed: 'failed', pending: 'skipped' };
exports.mochaHooks = {
  afterEach() {
    const t = this.currentTest;
    if (!t) return;
    write({ e: 'test', id: t.titlePath().join(' > '), o: states[t.state] || (t.pending ? 'skipped' : 'failed'), f: t.file || '' });
  },
  afterAll() {
    write({ e: 'finish' });
  },
};
