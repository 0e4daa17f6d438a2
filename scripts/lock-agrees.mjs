// Exit 0 when node_modules holds exactly what package-lock.json says, by npm's own record of it; 1 otherwise.
// Plain JavaScript: it runs on the machine's Node before anything is installed.
import { existsSync, readFileSync } from 'node:fs';

const packagesIn = (path) => JSON.parse(readFileSync(path, 'utf8')).packages;

const agrees = () => {
  if (!existsSync('node_modules/.package-lock.json')) return false;
  const installed = packagesIn('node_modules/.package-lock.json');
  return Object.entries(packagesIn('package-lock.json')).every(([path, wanted]) => {
    if (!path.startsWith('node_modules/')) return true;
    const found = installed[path];
    // Packages for other platforms are in the lock and not on the disk.
    if (!found) return wanted.optional === true;
    return found.version === wanted.version && found.integrity === wanted.integrity && existsSync(path);
  });
};

process.exitCode = agrees() ? 0 : 1;
