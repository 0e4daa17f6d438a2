/**
 * One step of the schema. Statements name tables as `{db}.<table>`; every one may be repeated, so that a step that was
 * interrupted is simply done again.
 */
export interface Migration {
  readonly id: number;
  readonly name: string;
  readonly up: readonly string[];
  readonly down: readonly string[];
}
