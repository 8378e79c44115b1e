// The requests that the list has: the entries of the journal, and with a filter those that match.
// Which match is the server's to say.

import { announce, nothing, set, state } from "./state.js";
import { read } from "./wire.js";

const MAX_WORDS = 256; // characters
const MAX_ROWS = 2000; // the journal has 1,000; somebody may read what it drops
const TYPING = 100; // milliseconds between two letters
const FEW = 5; // new rows are highlighted: more would only flicker
export const NO_FILTER = { q: "", chip: null };

let timer = 0;

export const isSearched = () => Boolean(state.filter.chip || state.filter.q.trim());

/** Replace the whole filter by one thing, which a chip names, and show the list of what matches. */
export function showOnly(label, only) {
  document.getElementById("requests").scrollIntoView({ block: "nearest" });
  search({ q: "", chip: { label, ...only } });
}

/** Change a part of the filter, and ask for what matches, if nobody types on. */
export function search(changes) {
  set({ filter: { ...state.filter, ...changes }, found: nothing().found });
  clearTimeout(timer);
  timer = setTimeout(follow, TYPING);
}

/** Ask for the entries that the list does not have. */
export async function follow() {
  const { found, filter: { q, chip } } = state;
  const { words = "", operation, status, finding } = chip ?? {};
  const given = { q: `${words} ${q}`.trim().slice(0, MAX_WORDS), operation, status, after: found.last };
  const more = await read(`/_stub/requests?${new URLSearchParams(Object.entries(given).filter(([, value]) => value))}`);
  if (!more || state.found !== found) return; // gone, or of another filter or world
  const arrived = more.requests.filter((entry) => !finding || [...entry.unpromised, ...entry.violations].includes(finding));
  const isFirst = found.last === null;
  if (!isFirst && arrived.length <= FEW) arrived.forEach((entry) => (entry.isNew = true));
  set({ found: { rows: [...found.rows, ...arrived].slice(-MAX_ROWS), last: more.last } });
  if (isFirst && isSearched()) announce(`${arrived.length} ${arrived.length === 1 ? "request matches" : "requests match"} the filter`);
}

/** Open a request in the inspector. */
export async function open(number) {
  const isMeant = (entry) => entry.number === number;
  const entry = state.found.rows.find(isMeant) ?? (await read(`/_stub/requests?after=${number - 1}&limit=1`))?.requests.find(isMeant);
  set({ selected: entry ?? { number } });
}
