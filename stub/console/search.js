// The search: which entries of the journal match is the server's to say.

import { announce, set, state } from "./state.js";
import { read } from "./wire.js";

const PAGE = 100; // entries that are asked for at once
const END = 999_999_999_999_999; // no entry has a higher number
export const NOTHING = { q: "", operation: "", status: "", finding: "" };

export const isSearched = () => Object.values(state.filter).some((text) => text.trim());

/** An entry of the journal as the view has it. */
const rowOf = ({ path, query, unpromised, violations, fault, grease, number, time, method, status, ms }) => ({
  ...{ number, time, method, status, ms },
  target: query ? `${path}?${query}` : path,
  unpromised: unpromised.length,
  violations: violations.length,
  fault: fault !== null,
  grease: grease.length > 0,
});

/** A page of entries: those found, the highest number of the journal, and whether there may be more. */
async function page({ q, operation, status, finding }, range) {
  const given = Object.entries({ q: q.trim(), operation, status }).filter(([, value]) => value);
  const found = await read(`/_stub/requests?${new URLSearchParams([...given, ...Object.entries(range), ["limit", PAGE]])}`);
  if (!found) return null;
  const { requests, last } = found;
  const matching = requests.filter((entry) => !finding || [...entry.unpromised, ...entry.violations].includes(finding));
  return { rows: matching.map(rowOf), last, numbers: requests.map((entry) => entry.number), isFull: requests.length === PAGE };
}

/** The entries before a number, whatever the filter. */
export const pageBefore = async (before) => (await page(NOTHING, { before }))?.rows ?? [];

/** Change a part of the filter, and ask for the newest entries that match. */
export async function search(changes) {
  const filter = { ...state.filter, ...changes };
  set({ filter, found: { rows: [], oldest: END, last: state.last, isWhole: false, isAsked: false } });
  if (!isSearched()) return announce("All requests are shown");
  await searchBack();
  if (state.filter !== filter) return;
  const { rows, isWhole } = state.found;
  announce(`${rows.length}${isWhole ? "" : " or more"} request${rows.length === 1 ? " matches" : "s match"} the filter`);
}

/** Ask for older entries that match, until a page is found. */
export async function searchBack() {
  const { filter, found } = state;
  if (found.isWhole || found.isAsked) return;
  found.isAsked = true;
  const rows = [];
  let { oldest, isWhole } = found;
  while (!isWhole && rows.length < PAGE) {
    const more = await page(filter, { before: oldest });
    found.isAsked = Boolean(more);
    if (!more || state.filter !== filter) return;
    rows.unshift(...more.rows);
    oldest = more.numbers[0] ?? oldest;
    isWhole = !more.isFull;
    if (found.oldest === END) found.last = Math.max(found.last, more.last);
  }
  set({ found: { ...state.found, rows: [...rows, ...state.found.rows], oldest, isWhole, isAsked: false } });
}

/** Ask for what has arrived since. */
export async function searchOn() {
  const { filter, found } = state;
  if (found.last >= state.last) return;
  const more = await page(filter, { after: found.last });
  if (!more || state.filter !== filter) return;
  const known = new Set(state.found.rows.map((row) => row.number));
  const rows = [...state.found.rows, ...more.rows.filter((row) => !known.has(row.number))];
  set({ found: { ...state.found, rows, last: more.isFull ? more.numbers.at(-1) : more.last } });
}
