// The poll: asks for the view of the world once a second.

import { invalidPart, session, takeWorldOfToken } from "./session.js";
import { announce, set, state } from "./state.js";
import { follow, NOTHING, NOTHING_FOUND } from "./search.js";
import { errorOf, send } from "./wire.js";

const SECOND = 1000;
const LONGEST_PAUSE = 5 * SECOND; // between two polls while the server is gone
const TIMEOUT = 10 * SECOND;
const TYPE_A_TOKEN = "Type one that the server was started with, or leave the field empty for the default one, and press Connect.";
const QUIET = 5 * SECOND; // between two announcements of new requests
const FEW = 5; // new rows are highlighted: more would only flicker

let timer = 0;
let failures = 0;
let controller = null;
let announcedAt = 0;
let unannounced = 0; // requests
let takenAt = ""; // the time of what is shown

const isHidden = () => document.hidden || document.visibilityState === "hidden";

/** Ask for the view now, and again in a second. A later call replaces an earlier one. */
export async function poll() {
  clearTimeout(timer);
  controller?.abort();
  if (isHidden()) return; // "visibilitychange" goes on
  const mine = (controller = new AbortController());
  const invalid = invalidPart();
  if (invalid) return reject(invalid.part, `The ${invalid.part} is invalid.`, `${invalid.reason} Type another one, and press Connect.`);
  const timeout = setTimeout(() => mine.abort(), TIMEOUT);
  try {
    const response = await send("GET", `/_stub/console?after=${state.last}`, undefined, mine);
    const found = await (response.ok ? response.json() : errorOf(response));
    if (mine !== controller) return;
    failures = response.ok ? 0 : failures + 1;
    if (response.ok) take(found);
    else if (response.status === 401) reject("token", "The token is rejected.", TYPE_A_TOKEN, found.text);
    else if (found.code === "too_many_worlds")
      reject("world", "There is no room for another world.", "Type the name of one that there is, and press Connect.", found.text);
    else lose("The server reports an error.", found.text);
  } catch {
    if (mine !== controller) return;
    failures++;
    lose("The server is gone.", "Trying again.");
  } finally {
    clearTimeout(timeout);
    if (mine === controller && !isHidden()) {
      clearTimeout(timer);
      timer = setTimeout(poll, Math.min(SECOND * 2 ** Math.min(failures, 5), LONGEST_PAUSE));
    }
  }
}

/** The token or the world, which `part` names, is wrong: what is shown is of another one. */
function reject(part, title, reason, detail) {
  forget();
  set({ view: null, selected: null, connection: { kind: "rejected", title, reason, members: [part], detail } });
}

const lose = (title, reason, detail = state.view && `The page shows what was there at ${takenAt} UTC.`) =>
  set({ connection: { kind: "gone", title, reason, detail } });

function take(view) {
  takenAt = new Date().toISOString().slice(11, 19);
  const isBack = state.connection.kind !== "connected";
  if (view.world !== session.world) takeWorldOfToken(view.world);
  if (view.instance !== state.view?.instance) {
    if (state.view && state.selected?.number) state.selected = null; // a request of the time before
    forget(); // the list asks for what it misses
  }
  const { entries, first, last } = view.requests;
  const isFirst = state.last === 0;
  if (!isFirst && entries.length <= FEW) entries.forEach((entry) => (entry.isNew = true));
  if (first !== state.first) state.found = { ...state.found, rows: state.found.rows.filter((row) => row.number >= first) };
  unannounced += isFirst ? 0 : last - state.last;
  set({
    view: unchanged(view, state.view),
    first,
    last,
    connection: { kind: "connected", title: "", reason: "" },
    epoch: state.epoch + isBack,
  });
  follow(entries);
  if (unannounced && Date.now() - announcedAt > QUIET) {
    announce(`${unannounced} new request${unannounced === 1 ? "" : "s"}`);
    announcedAt = Date.now();
    unannounced = 0;
  }
}

/** The view with the parts of the previous one that are equal: who shows them need not do it again. */
function unchanged(view, previous) {
  const part = ([name, value]) => [name, JSON.stringify(value) === JSON.stringify(previous[name]) ? previous[name] : value];
  return previous ? Object.fromEntries(Object.entries(view).map(part)) : view;
}

/** Forget what is of another world, or of another time. */
function forget() {
  Object.assign(state, { view: null, first: 1, last: 0, found: NOTHING_FOUND });
}

/** Connect to the world of the session. */
export function connect() {
  forget();
  failures = 0;
  const connection = { kind: "connecting", title: "", reason: "" };
  set({ connection, selected: null, filter: NOTHING, epoch: state.epoch + 1 });
  poll();
}

addEventListener("online", poll);
document.addEventListener("visibilitychange", poll);
