/** Ids have slashes. */
export function modelHref(id: string): string {
  return `/models/${id.split('/').map(encodeURIComponent).join('/')}`;
}
