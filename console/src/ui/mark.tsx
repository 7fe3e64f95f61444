/** The gateway's mark. */
export function Mark({ size }: { size: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#4f46e5" />
      <path
        d="M8 22V13.5C8 10.5 10.2 8.5 12.6 8.5c2 0 3.4 1.3 3.4 3.6V22m0-9.9c0-2.3 1.4-3.6 3.4-3.6 2.4 0 4.6 2 4.6 5V22"
        fill="none"
        stroke="#fff"
        strokeWidth="2.6"
        strokeLinecap="round"
      />
    </svg>
  );
}
