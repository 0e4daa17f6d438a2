export interface S3Config {
  readonly bucket: string;
  /** Before every key; ends with a slash unless it is empty. */
  readonly prefix: string;
  readonly region: string;
  /** Of another provider than AWS. */
  readonly endpoint?: string;
  /** The bucket in the path instead of the host name. */
  readonly pathStyle: boolean;
  /** A person saw to it that one process runs, since the provider keeps no conditions of writes. */
  readonly unfenced: boolean;
  /** Left out: the usual places of the provider, for example the identity of a pod. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}
