// The token and the world. The tab keeps both. The address has them only until they are read.

export const DEFAULT_TOKEN = "dev-token";

/** The valid values of the world and the token. */
export const RULES = {
  world: { pattern: /^[A-Za-z0-9_-]{0,64}$/, reason: "The name of a world has 1 to 64 of A-Z a-z 0-9 _ -." },
  token: { pattern: /^[\x20-\x7e]+$/, reason: "A token has only printable ASCII characters." },
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

/** Parse the name of a world. The main world has the empty name. */
export const parseWorld = (text) => (text.trim() === "main" ? "" : text.trim());

/** Take the token and the world from the fragment, and remove it. Return its parts. */
export function readFragment() {
  const fragment = location.hash.slice(1).replaceAll("+", "%2B"); // Otherwise + would be a space.
  const given = Object.fromEntries(new URLSearchParams(fragment));
  history.replaceState(null, "", location.pathname + location.search);
  if (given.token || given.world !== undefined) saveSession(given.token || session.token, parseWorld(given.world ?? ""));
  return given;
}

/** Find the invalid part of the session: "token", "world" or undefined. */
export const findInvalidPart = () => Object.keys(RULES).find((part) => !RULES[part].pattern.test(session[part]));

/** Split a token that names a world itself. */
export function takeWorldOfToken(world) {
  if (!world || !session.token.endsWith(`.${world}`)) return;
  saveSession(session.token.slice(0, -world.length - 1), world);
}

const suffix = () => (session.world ? `.${session.world}` : "");
export const credential = () => `Bearer ${session.token}${suffix()}`;

/** Build the credential for a shell, where `STUB_TOKEN` is the token without a world. */
export function buildShellCredential() {
  const isDefault = session.token === DEFAULT_TOKEN;
  return `Bearer ${isDefault ? `\${STUB_TOKEN:-${DEFAULT_TOKEN}}` : "$STUB_TOKEN"}${suffix()}`;
}

/** Build a link to this world, and to a part of it. It never has the token. */
export const buildLink = (parts = "") => `${location.origin}/#world=${session.world || "main"}${parts}`;
