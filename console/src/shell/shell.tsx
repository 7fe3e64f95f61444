/** The frame of every page: the rail, the command palette, the keyboard, and the banner of a lost connection. */
import { ActionIcon, Drawer, Menu, UnstyledButton, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ReactNode, useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useConfiguration } from '../api/admin.ts';
import { useConnectionLost } from '../api/connection.ts';
import { useSession } from '../api/session.tsx';
import { IconMenu, IconMoon, IconSearch, IconSun } from '../ui/icons.tsx';
import { Mark } from '../ui/mark.tsx';
import { Help } from './help.tsx';
import { isAt, usePlaces } from './navigation.ts';
import { Palette } from './palette.tsx';
import css from './shell.module.css';
import { useShortcuts } from './shortcuts.ts';

const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);

export function Shell({ children }: { children: ReactNode }) {
  const [menu, menuControl] = useDisclosure(false);
  const [palette, paletteControl] = useDisclosure(false);
  const [help, helpControl] = useDisclosure(false);
  const [location] = useLocation();
  useShortcuts({ palette: paletteControl.toggle, help: helpControl.toggle });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new place closes the menu that led there.
  useEffect(() => menuControl.close(), [location]);
  return (
    <div className={css.shell}>
      <a href="#main" className={css.skip}>
        Skip to the content
      </a>
      <aside className={css.rail}>
        <Rail onSearch={paletteControl.open} />
      </aside>
      <header className={css.bar}>
        <ActionIcon aria-label="Open the menu" onClick={menuControl.open} size="lg">
          <IconMenu size={18} />
        </ActionIcon>
        <Link href="/" className={css.brand}>
          <Brand />
        </Link>
        <ActionIcon aria-label="Search" onClick={paletteControl.open} size="lg">
          <IconSearch size={18} />
        </ActionIcon>
      </header>
      <main id="main" className={css.main} tabIndex={-1}>
        <ConnectionBanner />
        <RefusedReload />
        {children}
      </main>
      <Drawer opened={menu} onClose={menuControl.close} size={272} title={<Brand />} padding="md">
        <Rail onSearch={paletteControl.open} inside />
      </Drawer>
      <Palette opened={palette} close={paletteControl.close} />
      <Help opened={help} close={helpControl.close} />
    </div>
  );
}

function Brand() {
  return (
    <span className={css.name}>
      <Mark size={20} />
      Model Gateway
    </span>
  );
}

function Rail({ onSearch, inside = false }: { onSearch: () => void; inside?: boolean }) {
  const places = usePlaces();
  const [location] = useLocation();
  return (
    <div className={css.inside}>
      {!inside && (
        <Link href="/" className={css.brand}>
          <Brand />
        </Link>
      )}
      <UnstyledButton className={css.search} onClick={onSearch}>
        <IconSearch size={14} />
        <span>Search or go to</span>
        <kbd>{isMac ? '⌘' : 'Ctrl'} K</kbd>
      </UnstyledButton>
      <nav aria-label="Pages" className={css.nav}>
        {places.map((place) => (
          <Link
            key={place.href}
            href={place.href}
            className={css.place}
            aria-current={isAt(place, location) ? 'page' : undefined}
          >
            <place.icon /> {place.label}
          </Link>
        ))}
      </nav>
      <div className={css.foot}>
        <OperatorMenu />
        <ThemeButton />
      </div>
    </div>
  );
}

function OperatorMenu() {
  const { session, signOut } = useSession();
  if (session === null) return null;
  const { name, role } = session.operator;
  return (
    <Menu position="top-start">
      <Menu.Target>
        <UnstyledButton className={css.operator}>
          <span className={css.avatar} aria-hidden="true">
            {name.slice(0, 1).toUpperCase()}
          </span>
          <span className={css.who}>
            <span>{name}</span>
            <span className={css.role}>{role}</span>
          </span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => void signOut(false).catch(() => {})}>Sign out</Menu.Item>
        <Menu.Item onClick={() => void signOut(true).catch(() => {})}>Sign out everywhere</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function ThemeButton() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const other = scheme === 'dark' ? 'light' : 'dark';
  return (
    <ActionIcon size="lg" aria-label={`Use the ${other} theme`} onClick={() => setColorScheme(other)}>
      {scheme === 'dark' ? <IconSun /> : <IconMoon />}
    </ActionIcon>
  );
}

/** Quiet, and only after a moment: most restarts are over before anybody has to read about them. */
function ConnectionBanner() {
  const lost = useConnectionLost();
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (!lost) return setShown(false);
    const timer = setTimeout(() => setShown(true), 400);
    return () => clearTimeout(timer);
  }, [lost]);
  if (!shown) return null;
  return (
    <div className={css.banner} role="status">
      The gateway does not answer. This page updates as soon as it answers again.
    </div>
  );
}

/** Requests go on as before, so that nobody would notice; a restart would fail. */
function RefusedReload() {
  const { data } = useConfiguration();
  if (data === undefined || data.refused.length === 0) return null;
  const [first = '', ...others] = data.refused;
  return (
    <div className={css.banner} role="status">
      The config file has been changed and cannot be used; what was read before stays in use. {first}
      {others.length > 0 && `, and ${others.length} more: gateway config status`}
    </div>
  );
}
