/** Polls until `check` says yes; throws after `limitMs`. */
export const waitUntil = async (check: () => boolean | Promise<boolean>, limitMs = 10_000): Promise<void> => {
  const end = performance.now() + limitMs;
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`not so after ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
