/** Looks every 10 ms until the condition holds; throws after `timeoutMs`. */
export const until = async (condition: () => boolean | Promise<boolean>, timeoutMs = 10_000): Promise<void> => {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${condition.toString().slice(0, 200)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
