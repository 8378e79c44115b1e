// Requests to the stub.

import { credential } from "./session.js";

const SAFE = { cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" };
const MAX_TEXT = 300; // characters that are shown of a body of another form
const TIMEOUT = 40_000; // milliseconds; a fault may delay a response by 30 seconds

/** Send a request with the token. Rejects if the server is gone. */
export function send(method, path, document, options = {}) {
  const headers = { ...options.headers, Authorization: credential() };
  if (document !== undefined) headers["Content-Type"] = "application/json";
  return fetch(path, {
    method,
    body: document === undefined ? options.body : JSON.stringify(document),
    signal: options.signal ?? AbortSignal.timeout(TIMEOUT),
    headers,
    ...SAFE,
  });
}

/** The document of a response to a GET, or null. */
export const read = (path) => send("GET", path).then((response) => (response.ok ? response.json() : null)).catch(() => null);

/** An error of a body as a sentence: "Retry after must be …" for `/retry_after`. */
const sentenceOf = ({ pointer, detail }) =>
  `${pointer.slice(1).replace(/[/_]/g, " ") || "it"} ${detail}.`.replace(/^./u, (first) => first.toUpperCase());

/** The JSON of a text, which may have none. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The longest text in a JSON value: in the errors of most services it is the message. */
const messageIn = (value) =>
  typeof value === "string" ? value
    : value && typeof value === "object" ? Object.values(value).map(messageIn).filter(Boolean).sort((one, other) => other.length - one.length)[0]
      : undefined;

/** What an error response says, in the service's own words, its code, and the members it names. */
export async function errorOf(response) {
  const text = await response.text();
  const problem = parsed(text);
  const errors = Array.isArray(problem?.errors) ? problem.errors : [];
  const own = { title: response.statusText, detail: messageIn(problem) ?? text };
  const { title, detail } = typeof problem?.detail === "string" ? { ...own, ...problem } : own;
  const reason = [`${response.status} ${title}`, detail.slice(0, MAX_TEXT)].filter(Boolean).join(": ");
  const members = problem?.code === "name_taken" ? ["name"] : errors.map(({ pointer }) => pointer.slice(1));
  return { text: errors.map(sentenceOf).join("\n") || reason, members, code: problem?.code };
}

/** Send a request of a control. Returns its error, or null. */
export async function attempt(method, path, document) {
  try {
    const response = await send(method, path, document);
    return response.ok ? null : await errorOf(response);
  } catch {
    return { text: "The server did not respond. Try again when it is back.", members: [] };
  }
}
