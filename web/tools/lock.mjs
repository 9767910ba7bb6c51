// The lock file pins by hash. It names no address, so that whoever installs decides where from.
import { readFileSync, writeFileSync } from 'node:fs';

for (const file of ['package-lock.json', 'tools/api-types/package-lock.json']) {
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  for (const one of Object.values(lock.packages)) {
    delete one.funding;
    delete one.resolved;
    if (one.deprecated) delete one.deprecated;
  }
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
}
