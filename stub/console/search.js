// The entries of the journal that the list has: the newest, and with a filter those that match.
// Which match is the server's to say.

import { announce, set, state } from "./state.js";
import { read } from "./wire.js";

export const PAGE = 100; // entries that are asked for at once
const END = 999_999_999_999_999; // no entry has a higher number
const MAX_WORDS = 256; // characters
const TYPING = 100; // milliseconds between two letters
export const NOTHING = { q: "", chip: null };
export const NOTHING_FOUND = { rows: [], oldest: 1, last: 0, isWhole: true };

export const isSearched = () => Boolean(state.filter.chip || state.filter.q.trim());

/** The name in the body of a request, as the view has it; null if there is none. */
function nameIn(body) {
  try {
    const { name } = JSON.parse(body);
    return typeof name === "string" ? name : null;
  } catch {
    return null;
  }
}

/** An entry of the journal as the view has it. */
const rowOf = ({ path, query, body, unpromised, violations, fault, grease, number, time, method, status, code, ms }) => ({
  ...{ number, time, method, status, code, ms },
  name: nameIn(body),
  target: query ? `${path}?${query}` : path,
  unpromised: unpromised.length,
  violations: violations.length,
  fault: fault !== null,
  grease: grease.length > 0,
});

/** A page of entries: those found, the highest number of the journal, and whether there may be more. */
async function page({ q, chip }, range) {
  const { words = "", operation, status, finding } = chip ?? {};
  const given = { q: `${words} ${q}`.trim().slice(0, MAX_WORDS), operation, status, ...range, limit: PAGE };
  const found = await read(`/_stub/requests?${new URLSearchParams(Object.entries(given).filter(([, value]) => value))}`);
  if (!found) return null;
  const { requests, last } = found;
  const matching = requests.filter((entry) => !finding || [...entry.unpromised, ...entry.violations].includes(finding));
  return { rows: matching.map(rowOf), last, numbers: requests.map((entry) => entry.number), isFull: requests.length === PAGE };
}

/** Replace the whole filter by one thing, which a chip names, and show the list of what matches. */
export function showOnly(label, only) {
  document.getElementById("requests").scrollIntoView({ block: "nearest" });
  search({ q: "", chip: { label, ...only } });
}

/** Change a part of the filter, and ask for the newest entries that match, if nobody types on. */
export async function search(changes) {
  const filter = { ...state.filter, ...changes };
  set({ filter, found: { rows: [], oldest: END, last: state.last, isWhole: false, isAsked: true } });
  if (isSearched()) await new Promise((resolve) => setTimeout(resolve, TYPING));
  if (state.filter !== filter) return;
  state.found.isAsked = false;
  await searchBack();
  if (state.filter !== filter) return;
  const { rows, isWhole } = state.found;
  const matches = `request${rows.length === 1 ? " matches" : "s match"}`;
  announce(isSearched() ? `${rows.length}${isWhole ? "" : " or more"} ${matches} the filter` : "All requests are shown");
}

/** Ask for older entries that match, until a page is found. */
export async function searchBack() {
  const { filter, found } = state;
  if (found.isWhole || found.isAsked) return;
  found.isAsked = true;
  const rows = [];
  let { oldest, last, isWhole } = found;
  while (!isWhole && rows.length < PAGE) {
    const more = await page(filter, { before: oldest });
    if (state.filter !== filter || state.found.oldest !== found.oldest) return;
    if (!more) return set({ found: { ...state.found, isAsked: false } });
    rows.unshift(...more.rows);
    if (oldest === END) last = more.last;
    oldest = more.numbers[0] ?? oldest;
    isWhole = !more.isFull;
  }
  const newer = state.found.rows.filter(({ number }) => !(number <= rows.at(-1)?.number)); // some may have arrived meanwhile
  set({ found: { rows: [...rows, ...newer], oldest, last: Math.max(last, state.found.last), isWhole, isAsked: false } });
}

/** Add what has arrived: the entries of the poll, or with a filter those that the server finds. */
export function follow(entries) {
  if (isSearched()) return searchOn();
  const { last, found } = state;
  const arrived = entries.filter(({ number }) => number > found.last);
  if (arrived.length === last - found.last) return set({ found: arrived.length ? { ...found, rows: [...found.rows, ...arrived], last } : found });
  // A burst of more than a poll brings: the list asks for what is before these.
  set({ found: { rows: arrived, oldest: arrived[0]?.number ?? last + 1, last, isWhole: false, isAsked: false } });
}

async function searchOn() {
  const { filter, found } = state;
  const arrived = [];
  let { last } = found;
  for (let isFull = last < state.last; isFull; ) {
    const more = await page(filter, { after: last });
    if (!more || state.filter !== filter) return;
    arrived.push(...more.rows);
    isFull = more.isFull;
    last = isFull ? more.numbers.at(-1) : more.last;
  }
  const known = new Set(state.found.rows.map((row) => row.number));
  const rows = [...state.found.rows, ...arrived.filter((row) => !known.has(row.number))];
  if (last > state.found.last) set({ found: { ...state.found, rows, last } });
}
