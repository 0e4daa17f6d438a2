/** Waits until something is so, for five seconds at most. */
export const until = async (isSo: () => boolean, what = 'it'): Promise<void> => {
  const end = performance.now() + 5_000;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`${what} did not happen`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};
