// The token and the world. The tab keeps both; the address has them only until they are read.

const SENDABLE = /^[\x20-\x7e]+$/; // in a header
const WORLD = /^[A-Za-z0-9_-]{1,64}$/;
export const DEFAULT_TOKEN = "dev-token";

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

/** Take token and world from the fragment, and remove it. Returns its parts, or null. */
export function readFragment() {
  const fragment = location.hash.slice(1);
  if (!fragment) return null;
  history.replaceState(null, "", location.pathname + location.search);
  const given = {};
  for (const part of fragment.split("&")) {
    const [name, ...rest] = part.split("=");
    given[name] = decode(rest.join("=")); // a token may end with =
  }
  if (given.token) saveSession(given.token, worldOf(given.world ?? ""));
  else if (given.world !== undefined) saveSession(session.token, worldOf(given.world));
  return given;
}

function decode(text) {
  try {
    return decodeURIComponent(text); // unlike URLSearchParams, it leaves a + alone
  } catch {
    return text;
  }
}

/** Which part of the session no request can have, and why; or null. */
export function invalidPart() {
  if (session.world && !WORLD.test(session.world)) {
    return { part: "world", reason: "The name of a world has 1 to 64 of A-Z a-z 0-9 _ -." };
  }
  if (SENDABLE.test(session.token)) return null;
  return { part: "token", reason: "A token has printable ASCII characters alone." };
}

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
export function linkTo(parts = "") {
  return `${location.origin}/#world=${session.world || "main"}${parts}`;
}
