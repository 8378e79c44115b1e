// The poll: requests the view of the world every second.

import { follow, NO_FILTER } from "./search.js";
import { findInvalidPart, RULES, session, takeWorldOfToken } from "./session.js";
import { announce, nothing, set, state } from "./state.js";
import { readError, send } from "./wire.js";

const SECOND = 1000;
const TIMEOUT = 10 * SECOND;
const QUIET = 5 * SECOND; // after an announcement, before new requests are announced
const TYPE_A_TOKEN = "Type a token that the server was started with, or leave the field empty for the default token, and press Connect.";

let timer = 0;
let controller = null;
let unannounced = 0; // new requests
let takenAt = ""; // time of the view

/** Request the view now, and again in a second. A later call replaces an earlier call. */
export async function poll() {
  clearTimeout(timer);
  controller?.abort();
  const mine = (controller = new AbortController());
  if (document.hidden) return; // The event "visibilitychange" polls again.
  const invalid = findInvalidPart();
  if (invalid) return reject(invalid, `The ${invalid} is invalid.`, `${RULES[invalid].reason} Type another ${invalid}, and press Connect.`);
  const timeout = setTimeout(() => mine.abort(), TIMEOUT);
  try {
    const response = await send("GET", "/_stub/console", undefined, mine);
    const found = await (response.ok ? response.json() : readError(response));
    if (mine !== controller) return;
    if (response.ok) take(found);
    else if (response.status === 401) reject("token", "The token is rejected.", TYPE_A_TOKEN, found.text);
    else lose("The server reports an error.", found.text);
  } catch {
    if (mine === controller) lose("The server does not respond.", "The page tries again every second.");
  } finally {
    clearTimeout(timeout);
    if (mine === controller) timer = setTimeout(poll, SECOND);
  }
}

/** Show that the token or the world is wrong. `part` is "token" or "world". */
const reject = (part, title, reason, detail) =>
  set({ ...nothing(), connection: { kind: "rejected", title, reason, members: [part], detail } });

const lose = (title, reason, detail = state.view && `The page shows the world as it was at ${takenAt} UTC.`) =>
  set({ connection: { kind: "gone", title, reason, detail } });

function take(view) {
  takenAt = new Date().toISOString().slice(11, 19);
  const { view: previous, selected, connection, epoch } = state;
  const { last } = view.requests;
  if (view.world !== session.world) takeWorldOfToken(view.world);
  if (previous?.instance === view.instance) unannounced += last - previous.requests.last;
  else if (previous) Object.assign(state, nothing(), { selected: selected?.deployment ? selected : null });
  set({ view, connection: { kind: "connected" }, epoch: epoch + (connection.kind !== "connected") });
  if (state.loaded.last !== last) follow();
  if (unannounced && Date.now() - state.announcedAt > QUIET) {
    announce(`${unannounced} new request${unannounced === 1 ? "" : "s"}`);
    unannounced = 0;
  }
}

/** Connect to the world of the session. */
export function connect() {
  set({ ...nothing(), filter: NO_FILTER, connection: { kind: "connecting" }, epoch: state.epoch + 1 });
  poll();
}

addEventListener("online", poll);
document.addEventListener("visibilitychange", poll);
