import type { AdminApp } from '../http/framework.ts';
import { Health } from '../schema/health.ts';

export function addHealthRoutes(app: AdminApp): void {
  app.get('/health', { schema: { summary: 'Whether the gateway runs', response: { 200: Health } } }, async () => ({
    ok: true,
    pid: process.pid,
  }));
}
