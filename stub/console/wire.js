// Requests to the stub.

import { credential } from "./session.js";

const SAFE = { cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" };
const MAX_TEXT = 300; // characters of an error that is no problem document
const TIMEOUT = 40_000; // milliseconds; `--delay` makes a response up to 30 seconds late

/** Send a request with the token. It rejects if the server does not respond. */
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

/** Read the JSON at a path, or return null. */
export const read = (path) => send("GET", path).then((response) => (response.ok ? response.json() : null)).catch(() => null);

/** Format an error of a body as a sentence: "Content type must be …" for `/content_type`. */
const formatError = ({ pointer, detail }) =>
  `${pointer.slice(1).replace(/[/_]/g, " ") || "it"} ${detail}.`.replace(/^./u, (first) => first.toUpperCase());

/** Parse JSON, or return undefined. */
function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// The member that has the message of an error, in a problem document or in a form of a service.
const MESSAGE = /"(?:message|detail|error_description)"\s*:\s*("(?:[^"\\]|\\.)*")/;

/** Read an error response: its text, its code, and the members that it names. */
export async function readError(response) {
  const text = await response.text();
  const problem = parseJson(text);
  const listed = Array.isArray(problem?.errors) ? problem.errors : [];
  const errors = listed.filter((each) => typeof each?.pointer === "string"); // Other forms have no pointers.
  const detail = parseJson(MESSAGE.exec(text)?.[1]) ?? text;
  const reason = [`${response.status} ${problem?.title ?? response.statusText}`, detail.slice(0, MAX_TEXT)].filter(Boolean).join(": ");
  const members = problem?.code === "name_taken" ? ["name"] : errors.map(({ pointer }) => pointer.slice(1));
  return { text: errors.map(formatError).join("\n") || reason, members, code: problem?.code };
}

/** Send a request of a control, and return its error, or null. */
export async function attempt(method, path, document, options) {
  try {
    const response = await send(method, path, document, options);
    return response.ok ? null : await readError(response);
  } catch {
    return { text: "The server did not respond. Try again when it is back.", members: [] };
  }
}
