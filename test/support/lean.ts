/** Loaded before the tests of `npm run test:lean`: every gateway that they start speaks HTTP through the lean transport. */
process.env.GATEWAY_HTTP = 'lean';
