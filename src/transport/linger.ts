/** What is still read of a client whose request has been answered, the same for every server. */

/** Content that nobody wants is read to its end, so that the connection can be kept; not more than this. */
export const UNWANTED_BYTES_MAX = 128 * 1_024 * 1_024;
/**
 * A peer that is still sending when its connection is closed loses the response to a reset. So what it sends is read and
 * dropped for a while, within these bounds.
 */
export const LINGER_MS = 2_000;
export const LINGER_BYTES_MAX = 8 * 1_024 * 1_024;
