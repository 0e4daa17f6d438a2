/** The text is never run. */
export class Denied extends Error {
  override readonly name = 'Denied';
}

/** Only a person can say that the text may run. */
export class Asked extends Error {
  override readonly name = 'Asked';
  readonly node: string;

  constructor(node: string, why: string) {
    super(why);
    this.node = node;
  }
}
