/** The gateway's address for clients on this machine; a wildcard address is shown as loopback. */
export function publicOrigin(host: string, port: number, secure: boolean): string {
  const shown = host === '0.0.0.0' || host === '::' || host === '' ? '127.0.0.1' : host;
  return `${secure ? 'https' : 'http'}://${shown.includes(':') ? `[${shown}]` : shown}:${port}`;
}
