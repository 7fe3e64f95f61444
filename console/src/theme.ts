/** The component library, dressed in the console's own tokens (tokens.css): one accent, greys, and colours of state. */
import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

const indigo: MantineColorsTuple = [
  '#eef2ff',
  '#e0e7ff',
  '#c7d2fe',
  '#a5b4fc',
  '#818cf8',
  '#6366f1',
  '#4f46e5',
  '#4338ca',
  '#3730a3',
  '#312e81',
];

/** What the library takes for the backgrounds of fields, menus and dialogs in the dark theme. */
const dark: MantineColorsTuple = [
  '#ededf2',
  '#c5c5cf',
  '#a8a8b5',
  '#8e8e9b',
  '#34343e',
  '#26262e',
  '#18181d',
  '#121216',
  '#0c0c0f',
  '#08080a',
];

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 6, dark: 6 },
  colors: { indigo, dark },
  fontFamily: 'var(--font)',
  fontFamilyMonospace: 'var(--font-mono)',
  defaultRadius: 6,
  cursorType: 'pointer',
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '20px' },
  headings: { fontWeight: '600' },
  components: {
    Button: { defaultProps: { size: 'xs', fw: 500 } },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Select: { defaultProps: { size: 'sm', comboboxProps: { shadow: 'md' } } },
    MultiSelect: { defaultProps: { size: 'sm' } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: false, fz: 12 } },
    Modal: { defaultProps: { centered: false, overlayProps: { backgroundOpacity: 0.4 }, radius: 10, yOffset: '8vh' } },
    Menu: { defaultProps: { shadow: 'md', radius: 8, withinPortal: true } },
  },
});

const shared = {
  '--mantine-color-body': 'var(--surface)',
  '--mantine-color-text': 'var(--text)',
  '--mantine-color-dimmed': 'var(--text-2)',
  '--mantine-color-placeholder': 'var(--text-3)',
  '--mantine-color-default': 'var(--surface)',
  '--mantine-color-default-hover': 'var(--hover)',
  '--mantine-color-default-border': 'var(--line-strong)',
  '--mantine-color-default-color': 'var(--text)',
  '--mantine-color-error': 'var(--bad)',
  '--mantine-color-anchor': 'var(--accent)',
};

export const cssVariables: CSSVariablesResolver = () => ({ variables: {}, light: shared, dark: shared });
