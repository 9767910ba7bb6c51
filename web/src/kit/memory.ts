/** What this browser remembers of how a person likes it. Where it may not, everything works and nothing is kept. */

export function recalled(name: string): string | null {
  try {
    return localStorage.getItem(`petra.${name}`);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`petra.${name}`, value);
  } catch {
    // private windows may keep nothing
  }
}
