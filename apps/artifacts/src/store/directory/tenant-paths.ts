import { join } from 'node:path';
import { ArtifactId, Sha256, Token } from '@toolfabric/contract';
import type { Family } from '../byte-store.ts';

const HeadName = /^h-[0-9a-hjkmnp-tv-z]{26}$/;

const checked = (ok: boolean, what: string): void => {
  if (!ok) throw new Error(`not ${what}`);
};

/** Every path below the store. Each part is checked once more: nothing else than an id ever becomes one (B4). */
export class TenantPaths {
  readonly root: string;

  constructor(directory: string, tenant: string) {
    checked(Token.safeParse(tenant).success, 'a tenant');
    this.root = join(directory, tenant);
  }

  get temporary(): string {
    return join(this.root, 'tmp');
  }

  get blobs(): string {
    return join(this.root, 'sha256');
  }

  get logs(): string {
    return join(this.root, 'logs');
  }

  family(family: Family): string {
    return join(this.root, family);
  }

  /** Fanned out over 256 folders. */
  blob(sha256: string): { folder: string; file: string } {
    checked(Sha256.safeParse(sha256).success, 'a digest');
    const folder = join(this.blobs, sha256.slice(0, 2));
    return { folder, file: join(folder, sha256) };
  }

  document(family: Family, name: string): string {
    const ok = family === 'records' ? ArtifactId.safeParse(name).success : HeadName.test(name);
    checked(ok, 'the name of a document');
    return join(this.family(family), `${name}.json`);
  }

  log(id: string): string {
    checked(ArtifactId.safeParse(id).success, 'an id');
    return join(this.logs, id);
  }
}
