/** A skeleton of the size of what comes, and only after 300 ms: most answers are there before. */
import { Skeleton } from '@mantine/core';
import { useEffect, useState } from 'react';

export function useSlow(ms = 300): boolean {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return slow;
}

export function Loading({ rows = 6, height = 32 }: { rows?: number; height?: number }) {
  const slow = useSlow();
  if (!slow) return null;
  return (
    <div aria-busy="true">
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same.
        <Skeleton key={index} height={height} mb={9} radius={6} />
      ))}
    </div>
  );
}
