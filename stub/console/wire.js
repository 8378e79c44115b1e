// Requests to the stub.

import { credential } from "./session.js";

const SAFE = { cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" };
const MAX_TEXT = 300; // characters that are shown of a body of another form
const TIMEOUT = 40_000; // milliseconds; `--delay` makes a response up to 30 seconds late

/** Send a request with the token. Rejects if the server is gone. */
export function send(method, path, document, options = {}) {
  const type = document === undefined ? {} : { "Content-Type": "application/json" };
  const headers = { ...type, ...options.headers, Authorization: credential() };
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

/** An error of a body as a sentence: "Content type must be …" for `/content_type`. */
const sentenceOf = ({ pointer, detail }) =>
  `${pointer.slice(1).replace(/[/_]/g, " ") || "it"} ${detail}.`.replace(/^./u, (first) => first.toUpperCase());

/** The JSON of a text; undefined if it is none. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// The member of a body that tells the error, in a problem document or in a form of the service's own.
const MESSAGE = /"(?:message|detail|error_description)"\s*:\s*("(?:[^"\\]|\\.)*")/;

/** What an error response says, in the service's own words, its code, and the members it names. */
export async function errorOf(response) {
  const text = await response.text();
  const problem = parsed(text);
  const listed = Array.isArray(problem?.errors) ? problem.errors : [];
  const errors = listed.filter((each) => typeof each?.pointer === "string"); // those of another form have no such place
  const detail = parsed(MESSAGE.exec(text)?.[1]) ?? text;
  const reason = [`${response.status} ${problem?.title ?? response.statusText}`, detail.slice(0, MAX_TEXT)].filter(Boolean).join(": ");
  const members = problem?.code === "name_taken" ? ["name"] : errors.map(({ pointer }) => pointer.slice(1));
  return { text: errors.map(sentenceOf).join("\n") || reason, members, code: problem?.code };
}

/** Send a request of a control. Returns its error, or null. */
export async function attempt(method, path, document, options) {
  try {
    const response = await send(method, path, document, options);
    return response.ok ? null : await errorOf(response);
  } catch {
    return { text: "The server did not respond. Try again when it is back.", members: [] };
  }
}
