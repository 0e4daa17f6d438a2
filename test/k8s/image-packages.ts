import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const LockedPackage = z.looseObject({
  link: z.boolean().optional(),
  resolved: z.string().optional(),
  dependencies: z.record(z.string(), z.string()).default({}),
  hasInstallScript: z.boolean().default(false),
});
const Lock = z.looseObject({ packages: z.record(z.string(), LockedPackage) });
type Packages = z.infer<typeof Lock>['packages'];

/** Where a package that `from` asks for is installed: beside it, else at the top. A workspace is where its link leads. */
const placeOf = (packages: Packages, from: string, name: string): string => {
  const beside = `${from}/node_modules/${name}`;
  const place = beside in packages ? beside : `node_modules/${name}`;
  const found = packages[place];
  return found?.link === true && found.resolved !== undefined ? found.resolved : place;
};

/** Packages that the image of an app has, by name, and which of them would need a script to be installed. */
export const packagesOfImage = (root: string, app: string): { names: Set<string>; scripted: string[] } => {
  const { packages } = Lock.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
  const places = new Map([[`apps/${app}`, app]]);
  for (const [place] of places)
    for (const name of Object.keys(packages[place]?.dependencies ?? {}))
      places.set(placeOf(packages, place, name), name);
  const scripted = [...places].filter(([place]) => packages[place]?.hasInstallScript).map(([, name]) => name);
  return { names: new Set(places.values()), scripted };
};
