// The loaded requests, and the filter.

import { isObject } from "./creation.js";
import { announce, set, state } from "./state.js";
import { read } from "./wire.js";

const MAX_ROWS = 2000; // The journal has 1,000. A person may read a request that it no longer has.
const TYPING = 500; // milliseconds after the last letter, before the number of matches is announced
const FEW = 5; // maximum of highlighted new rows: more would flicker
export const NO_FILTER = { q: "", chip: null };

let timer = 0;

export const isSearched = () => Boolean(state.filter.chip || state.filter.q.trim());

/** Replace the filter by a chip with a label, and show the matching requests. */
export function showOnly(label, only) {
  document.getElementById("requests").scrollIntoView({ block: "nearest" });
  search({ q: "", chip: { label, ...only } });
}

/** Change a part of the filter, and announce the number of matches. */
export function search(changes) {
  state.loaded.rows.forEach((entry) => (entry.isNew = false));
  set({ filter: { ...state.filter, ...changes } });
  clearTimeout(timer);
  timer = setTimeout(() => {
    const count = findMatching().length;
    if (isSearched()) announce(`${count} ${count === 1 ? "request matches" : "requests match"} the filter`);
  }, TYPING);
}

/** Find the loaded requests that match the filter, oldest first. */
export const findMatching = () => state.loaded.rows.filter(matches);

function matches(entry) {
  const { q, chip } = state.filter;
  const { words = "", operation, status, finding } = chip ?? {};
  if (operation && entry.operation !== operation) return false;
  if (status && String(entry.status) !== status) return false;
  if (finding && ![...entry.unpromised, ...entry.violations].includes(finding)) return false;
  const searched = findSearchText(entry);
  return `${words} ${q}`.toLowerCase().split(/\s+/).every((word) => searched.includes(word));
}

const texts = new WeakMap(); // key: entry

/** Return the text to search: `4xx`, the status, the method, the path, the code, and the names and ids in the bodies. */
function findSearchText(entry) {
  if (!texts.has(entry)) {
    const { status, method, path, query, code, json, response } = entry;
    const target = query ? `${path}?${query}` : path;
    const parts = [`${Math.floor(status / 100)}xx`, status, method, target, code, ...listLabels(json), ...listLabels(response.json)];
    texts.set(entry, parts.join("\n").toLowerCase());
  }
  return texts.get(entry);
}

/** List the names and ids in the JSON of a body: members such as `projectId`, except those in arrays. */
const listLabels = (value, name = "") =>
  isObject(value) ? Object.entries(value).flatMap(([key, each]) => listLabels(each, key)) : /(name|id)$/i.test(name) ? [value] : [];

/** Load the new entries of the journal. */
export async function follow() {
  const { loaded } = state;
  const more = await read(`/_stub/requests${loaded.last === null ? "" : `?after=${loaded.last}`}`);
  if (!more || state.loaded !== loaded) return; // There is no connection, or another world.
  const arrived = more.requests;
  if (loaded.last !== null && arrived.length <= FEW) arrived.forEach((entry) => (entry.isNew = true));
  set({ loaded: { rows: [...loaded.rows, ...arrived].slice(-MAX_ROWS), last: more.last } });
}

/** Open a request in the inspector. */
export async function open(number) {
  const isMeant = (entry) => entry.number === number;
  const entry = state.loaded.rows.find(isMeant) ?? (await read(`/_stub/requests?after=${number - 1}&limit=1`))?.requests.find(isMeant);
  set({ selected: entry ?? { number } });
}
