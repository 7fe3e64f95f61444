/** Whether the promise is still pending after everything that could settle it by now has run. */
export async function pending(promise: Promise<unknown>): Promise<boolean> {
  let over = false;
  const settled = (): void => {
    over = true;
  };
  promise.then(settled, settled);
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  return !over;
}
