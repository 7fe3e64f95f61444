#!/usr/bin/env node
// `npx model-gateway` without a command starts the gateway; everything else is as with `gateway`.
if (process.argv.length === 2) process.argv.push('start');
await import('./gateway.mjs');
