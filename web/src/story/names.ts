/** What the columns of a story mean by their numbers. They only ever grow: a number that was given keeps its meaning. */
import { type Frames, type Place, placeOf } from './frames';

export class Names {
  readonly places: Place[] = [];
  readonly types: string[] = [];
  readonly steps: string[] = [];
  #placesOf = new Map<string, number[]>();

  learn(frames: Frames): void {
    for (let n = this.places.length; n < frames.places.length; n++) {
      const place = placeOf(frames.places[n]!);
      this.places.push(place);
      const of = this.#placesOf.get(place.step);
      if (of) of.push(n);
      else this.#placesOf.set(place.step, [n]);
    }
    for (let n = this.types.length; n < frames.types.length; n++) this.types.push(frames.types[n]!);
    for (let n = this.steps.length; n < frames.steps.length; n++) this.steps.push(frames.steps[n]!);
  }

  /** The places of a step, by their numbers. */
  placesOf(step: string): readonly number[] {
    return this.#placesOf.get(step) ?? [];
  }
}
