const FRAMES = 8;

/** What may be said in a log about anything thrown: its class, its code and where it came from; never its message. */
export const describeThrown = (thrown: unknown): { error: string; code?: string; where?: string } => {
  if (!(thrown instanceof Error)) return { error: typeof thrown };
  const code = (thrown as { code?: unknown }).code;
  const where = placesOf(thrown);
  return {
    error: thrown.name,
    ...(typeof code === 'string' ? { code } : {}),
    ...(where === '' ? {} : { where }),
  };
};

/** The frames of the stack without its head, which repeats the message. */
const placesOf = (error: Error): string => {
  const head = `${error.message}\n`;
  const stack = error.stack ?? '';
  const at = error.message === '' ? 0 : stack.indexOf(head);
  const tail = at < 0 ? '' : stack.slice(at + head.length);
  return tail
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, FRAMES)
    .map((line) => line.trim())
    .join('; ');
};
