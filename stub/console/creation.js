// The request that creates a project. With --like it has the form of the service.

import { state } from "./state.js";

const NAME = "{project.name}"; // the place of the name in the example

/** Fill a name into the example of a request. */
export const fillCreation = (name, example = state.view.request) =>
  example === NAME ? name : isObject(example) ? mapValues(example, (each) => fillCreation(name, each)) : example;

/** Find the name in the body of a request. Return null if it has no name. */
export function findName(body) {
  try {
    const name = findValue(state.view.request, JSON.parse(body));
    return typeof name === "string" ? name : null;
  } catch {
    return null;
  }
}

/** Return the value at the place of the name. */
function findValue(example, value) {
  if (example === NAME) return value;
  if (!isObject(example)) return undefined;
  return Object.entries(example).map(([key, each]) => findValue(each, value?.[key])).find((each) => each !== undefined);
}

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const mapValues = (object, change) => Object.fromEntries(Object.entries(object).map(([key, each]) => [key, change(each)]));
