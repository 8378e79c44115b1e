// The token and the world. The tab keeps both; the address has them only until they are read.

export const DEFAULT_TOKEN = "dev-token";

/** What a request can have of each part. */
export const RULES = {
  world: { pattern: /^[A-Za-z0-9_-]{0,64}$/, reason: "The name of a world has 1 to 64 of A-Z a-z 0-9 _ -." },
  token: { pattern: /^[\x20-\x7e]+$/, reason: "A token has printable ASCII characters alone." },
};

export const session = {
  token: sessionStorage.getItem("token") ?? DEFAULT_TOKEN,
  world: sessionStorage.getItem("world") ?? "",
};

export function saveSession(token, world) {
  Object.assign(session, { token, world });
  sessionStorage.setItem("token", token);
  sessionStorage.setItem("world", world);
}

/** The world that somebody names; the main one has the empty name. */
export const worldOf = (text) => (text.trim() === "main" ? "" : text.trim());

/** Take token and world from the fragment, and remove it. Returns its parts. */
export function readFragment() {
  const fragment = location.hash.slice(1).replaceAll("+", "%2B"); // a + is no space
  const given = Object.fromEntries(new URLSearchParams(fragment));
  history.replaceState(null, "", location.pathname + location.search);
  if (given.token || given.world !== undefined) saveSession(given.token || session.token, worldOf(given.world ?? ""));
  return given;
}

/** Which part of the session no request can have; undefined if there is none. */
export const invalidPart = () => Object.keys(RULES).find((part) => !RULES[part].pattern.test(session[part]));

/** The token itself names a world: keep the two apart. */
export function takeWorldOfToken(world) {
  if (!world || !session.token.endsWith(`.${world}`)) return;
  saveSession(session.token.slice(0, -world.length - 1), world);
}

const suffix = () => (session.world ? `.${session.world}` : "");
export const credential = () => `Bearer ${session.token}${suffix()}`;

/** The credential for a shell, where `STUB_TOKEN` is the token without a world. */
export function shellCredential() {
  const isDefault = session.token === DEFAULT_TOKEN;
  return `Bearer ${isDefault ? `\${STUB_TOKEN:-${DEFAULT_TOKEN}}` : "$STUB_TOKEN"}${suffix()}`;
}

/** A link to what is shown. It never has the token. */
export const linkTo = (parts = "") => `${location.origin}/#world=${session.world || "main"}${parts}`;
