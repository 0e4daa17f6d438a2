/** The other side speaks a newer revision in a place where it cannot be guessed what it means. */
export class WireMismatch extends Error {
  override readonly name = 'WireMismatch';
}

export interface EnumCodec<Label extends string> {
  toWire(label: Label): number;
  /** Throws `WireMismatch` for a value that this side does not know, the unspecified zero included. */
  fromWire(value: number): Label;
  /** Undefined where `fromWire` throws. */
  known(value: number): Label | undefined;
}

/** Pairs the labels of the contract with the values of a generated enum: `dead_letter` with `DEAD_LETTER`. */
export const enumCodec = <Label extends string>(
  what: string,
  wire: Readonly<Record<string, number>>,
  labels: readonly Label[],
): EnumCodec<Label> => {
  const values = new Map<Label, number>();
  const byValue: (Label | undefined)[] = [];
  for (const label of labels) {
    const value = wire[label.toUpperCase()];
    if (value === undefined || value === 0) throw new Error(`the wire has no ${what} ${label}`);
    values.set(label, value);
    byValue[value] = label;
  }
  const known = (value: number) => byValue[value];
  return {
    known,
    toWire(label) {
      const value = values.get(label);
      if (value === undefined) throw new WireMismatch(`no ${what} on the wire`);
      return value;
    },
    fromWire(value) {
      const label = known(value);
      if (label === undefined) throw new WireMismatch(`${what} ${value} is not known here`);
      return label;
    },
  };
};
