#!/usr/bin/env bash
# `npm run test:all`: `npm test`, and what takes longer: crashes, simulated schedules, mutations, attacks, the package,
# the files of a deployment and the site.
set -euo pipefail
cd "$(dirname "$0")/.."
npm test
npm run test:heavy
npm run test:package
# The same seeds each time: what CI decides depends on the change alone. Without them, new ones are tried.
npm run simulate -- --seconds 90 --seed 1000
npm run simulate -- --seconds 60 --seed 1000 --engine postgres
npm run torture -- --minutes 2 --seed 1
npm run torture -- --minutes 2 --seed 1 --engine postgres --workers 2
npm run abuse -- --minutes 2 --seed 1
test/deploy/tools.sh
npm run test:deploy
npm run site
