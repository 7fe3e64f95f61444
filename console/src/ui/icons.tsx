/** Line icons on a grid of 16, drawn for the console. They are decoration: the text beside them says what they mean. */
import type { ReactNode } from 'react';

function icon(children: ReactNode) {
  return function Icon({ size = 16 }: { size?: number }) {
    return (
      <svg
        width={size}
        height={size}
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth={1.4}
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        focusable="false"
      >
        {children}
      </svg>
    );
  };
}

export const IconOverview = icon(<path d="M2 13.5h12M3.8 11V8.2M7 11V4.5M10.2 11V6.8M13 11V2.8" />);
export const IconRequests = icon(<path d="M2 4h7M2 8h12M2 12h5M11.5 4h2.5M9.5 12H14" />);
export const IconKeys = icon(
  <>
    <circle cx="5" cy="11" r="2.8" />
    <path d="m7 9 6.3-6.3M10.5 5.5l2 2" />
  </>,
);
export const IconModels = icon(<path d="m8 1.8 5.5 3.1v6.2L8 14.2l-5.5-3.1V4.9ZM2.5 4.9 8 8m0 0 5.5-3.1M8 8v6.2" />);
export const IconAccounts = icon(
  <>
    <rect x="5.5" y="1.8" width="5" height="3.6" rx="1" />
    <rect x="1.5" y="10.6" width="5" height="3.6" rx="1" />
    <rect x="9.5" y="10.6" width="5" height="3.6" rx="1" />
    <path d="M8 5.4V8M4 10.6V8h8v2.6" />
  </>,
);
export const IconPlayground = icon(<path d="M4.5 2.8v10.4L13 8Z" />);
export const IconAlerts = icon(
  <path d="M3.5 11.5c1-1 1-2 1-4a3.5 3.5 0 0 1 7 0c0 2 0 3 1 4ZM6.7 13.6a1.4 1.4 0 0 0 2.6 0" />,
);
export const IconSettings = icon(
  <>
    <path d="M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6" />
    <circle cx="10" cy="4.5" r="1.9" />
    <circle cx="6" cy="11.5" r="1.9" />
  </>,
);
export const IconSearch = icon(
  <>
    <circle cx="7" cy="7" r="4.5" />
    <path d="m10.5 10.5 3.3 3.3" />
  </>,
);
export const IconCopy = icon(
  <>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M10.5 5.5v-2A1.5 1.5 0 0 0 9 2H4a1.5 1.5 0 0 0-1.5 1.5V9A1.5 1.5 0 0 0 4 10.5h1.5" />
  </>,
);
export const IconCheck = icon(<path d="m3 8.5 3.3 3.3L13 4.8" />);
export const IconCross = icon(<path d="m4 4 8 8m0-8-8 8" />);
export const IconPlus = icon(<path d="M8 3v10M3 8h10" />);
export const IconMore = icon(
  <>
    <circle cx="3.5" cy="8" r=".6" fill="currentColor" />
    <circle cx="8" cy="8" r=".6" fill="currentColor" />
    <circle cx="12.5" cy="8" r=".6" fill="currentColor" />
  </>,
);
export const IconMenu = icon(<path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />);
export const IconSun = icon(
  <>
    <circle cx="8" cy="8" r="2.8" />
    <path d="M8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9" />
  </>,
);
export const IconMoon = icon(<path d="M13.2 9.4A5.6 5.6 0 0 1 6.6 2.8a5.6 5.6 0 1 0 6.6 6.6Z" />);
export const IconColumns = icon(
  <>
    <rect x="2" y="2.5" width="12" height="11" rx="1.5" />
    <path d="M6 2.5v11M10 2.5v11" />
  </>,
);
export const IconDownload = icon(<path d="M8 2.5v7M5 7l3 3 3-3M2.5 13.5h11" />);
export const IconOpen = icon(<path d="m3.5 6 4.5 4.5L12.5 6" />);
export const IconClosed = icon(<path d="M6 3.5 10.5 8 6 12.5" />);
export const IconUp = icon(<path d="M8 12.5v-9M4.5 7 8 3.5 11.5 7" />);
export const IconDown = icon(<path d="M8 3.5v9M4.5 9 8 12.5 11.5 9" />);
export const IconAlert = icon(<path d="M8 2.2 14.3 13H1.7ZM8 6.5v3M8 11.3v.1" />);
