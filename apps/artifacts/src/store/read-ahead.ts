/** Maps in order, with up to `width` on their way at one time. */
export async function* readAhead<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  width: number,
  read: (item: T) => Promise<R>,
): AsyncIterable<R> {
  const ahead: Promise<R>[] = [];
  for await (const item of items) {
    const reading = read(item);
    // Heard of in its turn.
    reading.catch(() => {});
    ahead.push(reading);
    if (ahead.length >= width) yield await (ahead.shift() as Promise<R>);
  }
  for (const reading of ahead) yield await reading;
}
