import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

export const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});
export type Manifest = z.infer<typeof Manifest>;

export interface Found {
  /** Relative to the folder that was read. */
  readonly file: string;
  readonly manifest: Manifest;
}

const Kustomization = z.strictObject({
  apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
  kind: z.literal('Kustomization'),
  namespace: z.string().optional(),
  resources: z.array(z.string()).min(1),
  labels: z
    .array(z.strictObject({ pairs: z.record(z.string(), z.string()), includeSelectors: z.boolean().optional() }))
    .optional(),
  images: z.array(z.strictObject({ name: z.string(), newTag: z.string() })).optional(),
});

const documentsOf = (file: string): unknown[] => {
  // Clusters read YAML 1.1, in which 0440 is octal and `on` is true.
  const documents = parseAllDocuments(readFileSync(file, 'utf8'), { version: '1.1', strict: true, uniqueKeys: true });
  if (!Array.isArray(documents)) return [];
  for (const { errors } of documents) if (errors[0]) throw new Error(`${file}: ${errors[0].message}`);
  return documents.map((document) => document.toJS() as unknown);
};

/** What `kubectl apply -k` would take from a folder. Throws where a file is missing, unnamed, or no manifest. */
export const readKustomized = (root: string, folder = root): Found[] => {
  const [document] = documentsOf(join(folder, 'kustomization.yaml'));
  const { resources } = Kustomization.parse(document);
  const left = readdirSync(folder).filter((name) => name !== 'kustomization.yaml' && !resources.includes(name));
  if (left.length > 0) throw new Error(`${folder}: not among the resources: ${left.join(', ')}`);
  return resources.flatMap((name) => {
    const path = join(folder, name);
    if (existsSync(join(path, 'kustomization.yaml'))) return readKustomized(root, path);
    return documentsOf(path).map((value) => ({ file: relative(root, path), manifest: Manifest.parse(value) }));
  });
};
