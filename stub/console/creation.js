// The request that creates a project, in the form that the stub takes: that of the service, with --like.

import { state } from "./state.js";

const NAME = "{project.name}"; // where the name stands in the example

/** The request that creates a project of this name. */
export const creationOf = (name, example = state.view.request) =>
  example === NAME ? name : isObject(example) ? mapped(example, (each) => creationOf(name, each)) : example;

/** The name in the body of a request; null if there is none. */
export function nameIn(body) {
  try {
    const name = nameAt(state.view.request, JSON.parse(body));
    return typeof name === "string" ? name : null;
  } catch {
    return null;
  }
}

/** What stands in a value where the example has the name. */
function nameAt(example, value) {
  if (example === NAME) return value;
  if (!isObject(example)) return undefined;
  return Object.entries(example).map(([key, each]) => nameAt(each, value?.[key])).find((each) => each !== undefined);
}

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const mapped = (object, change) => Object.fromEntries(Object.entries(object).map(([key, each]) => [key, change(each)]));
