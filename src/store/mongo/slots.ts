/**
 * Stores a document in the first free place of its owner. A unique index of owner and place refuses one that is taken meanwhile,
 * also by another process, so no number of parallel calls exceeds the limit.
 * @param live the places of the owner's other documents; undefined for one stored before places were given, which holds any
 * @param most how many the owner may have; places are numbered from 0
 * @param insert returns false when the place is taken
 * @returns the place; `full` when there is none
 */
export async function insertInSlot(
  live: readonly (number | undefined)[],
  most: number,
  insert: (slot: number) => Promise<boolean>,
): Promise<number | 'full'> {
  const taken = new Set(live)
  const places = most - live.filter((slot) => slot === undefined).length
  for (let slot = 0; slot < places; slot += 1) {
    if (!taken.has(slot) && (await insert(slot))) return slot
  }
  return 'full'
}
