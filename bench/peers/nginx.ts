import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Adapter } from '../peer.ts';
import { findBinary } from '../processes.ts';

/** `apt-get install nginx-light` (Debian, Ubuntu) or `brew install nginx`; only the binary is used, not the service. */
export const nginx: Adapter = {
  name: 'nginx',
  missing: () => (findBinary('nginx') === null ? 'not installed (apt-get install nginx-light)' : null),
  refuses: (shape) => (shape.client === shape.native ? null : 'it does not translate'),
  launch: ({ folder, port, upstreamOrigin }) => {
    const file = join(folder, 'nginx.conf');
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, configuration(folder, port, new URL(upstreamOrigin).host));
    return {
      command: findBinary('nginx') ?? 'nginx',
      args: ['-p', folder, '-c', file, '-e', join(folder, 'error.log')],
      origin: `http://127.0.0.1:${port}`,
      readyPath: '/',
      runsOnNode: false,
      tellsLoopDelay: false,
      headers: () => ({ authorization: 'Bearer bench' }),
    };
  },
};

function configuration(folder: string, port: number, upstream: string): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off;
pid ${folder}/nginx.pid;
worker_processes 1;
worker_rlimit_nofile 65536;
events { worker_connections 32768; }
http {
  access_log off;
  ${paths.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  client_max_body_size 32m;
  client_body_buffer_size 1m;
  keepalive_requests 1000000000;
  upstream model { server ${upstream}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://model;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 300s;
    }
  }
}
`;
}
