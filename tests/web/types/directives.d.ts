/* The directives that the pages use, as types. */
export function guard(dependsOn: unknown[], make: () => unknown): unknown;
export function keyed(key: unknown, value: unknown): unknown;
export function live(value: unknown): unknown;
export function repeat<T>(
  items: Iterable<T>,
  key: (item: T, at: number) => unknown,
  template: (item: T, at: number) => unknown,
): unknown;
