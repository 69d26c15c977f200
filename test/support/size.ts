/** `TEST_SIZE=full` (`npm run test:long`), or the size of `npm test`. */
const FULL = process.env.TEST_SIZE === 'full'

/**
 * How often a test repeats what only many tries find: rounds of chaos, runs of a property, kills.
 * @param moderate in `npm test`: enough to find the defect that the test guards against
 * @param full in `npm run test:long`, nightly and before anything is called resolved that the test guards
 */
export function size(moderate: number, full: number): number {
  return FULL ? full : moderate
}
