/** For a page with scripts and styles of its own and nothing else: nothing inline, nothing from elsewhere, never in a frame. */

/** The nonce is for the component library, which writes the variables of its theme into a style element. */
export function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
