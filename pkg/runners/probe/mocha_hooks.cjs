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
// With --parallel the tests run in workers, each with these hooks; the main process runs none. It is through when
// it ends by itself and workers were there: no code under test is loaded in it.
let hooked = false;
process.on('exit', () => {
  try {
    const ended = fs.readFileSync(out, 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l));
    if (!hooked && ended.some((l) => l.e === 'worker' && l.of === process.pid)) write({ e: 'finish' });
  } catch { /* as above */ }
});
if (/[\\/]mocha[\\/]lib[\\/]nodejs[\\/]worker\.js$/.test(process.argv[1] || '')) write({ e: 'worker', of: process.ppid });
const states = { passed: 'passed', failed: 'failed', pending: 'skipped' };
exports.mochaHooks = {
  beforeAll() {
    hooked = true;
  },
  afterEach() {
    const t = this.currentTest;
    if (!t) return;
    write({ e: 'test', id: t.titlePath().join(' > '), o: states[t.state] || (t.pending ? 'skipped' : 'failed'), f: t.file || '' });
  },
  afterAll() {
    write({ e: 'finish' });
  },
};
