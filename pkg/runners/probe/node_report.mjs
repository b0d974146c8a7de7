// A reporter for node:test that writes one JSON line an event; the last line says
// that the run came to its end.
import process from 'node:process';

const line = (o) => JSON.stringify({ p: process.pid, ...o }) + '\n';

export default async function* report(source) {
  yield line({ e: 'start' });
  const path = [];
  for await (const { type, data } of source) {
    if (type === 'test:start' && data && data.name !== undefined) {
      path.length = data.nesting;
      path[data.nesting] = data.name;
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const names = path.slice(0, data.nesting).concat(data.name);
    const kind = data.details && data.details.type;
    if (kind === 'suite') continue;
    const file = data.file || '';
    // A file without tests, or one that ended the process early, is reported as
    // one passed test that bears the file's name.
    const bare = data.nesting === 0 && (data.name === file || /\.[cm]?[jt]sx?$/.test(data.name) && file.endsWith(data.name.replace(/^\.?\//, '')));
    const o = data.skip !== undefined || data.todo !== undefined ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed';
    yield line({ e: bare && o === 'passed' ? 'empty' : 'test', id: names.join(' > '), o, f: file });
  }
  yield line({ e: 'finish' });
}
