/** Looking something up among numbers that stand in order. */

/** How many of some are not greater. */
export function countAtMost<T>(among: readonly T[], most: number, numberOf: (one: T) => number): number {
  let [low, high] = [0, among.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numberOf(among[middle]!) <= most) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the last number that is not greater; -1 where all are. */
export function lastAtMost(numbers: readonly number[], most: number): number {
  return countAtMost(numbers, most, itself) - 1;
}

function itself(number: number): number {
  return number;
}
