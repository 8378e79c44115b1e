// Requests to the stub.

import { credential } from "./session.js";

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
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
  });
}

/** The document of a response to a GET, or null. */
export async function read(path) {
  try {
    const response = await send("GET", path);
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

/** What an error response says, in the service's own words, and the members it names. */
export async function errorOf(response) {
  let problem = null;
  try {
    problem = await response.json();
  } catch {
    // The response has no JSON.
  }
  const title = problem?.title ?? response.statusText;
  const errors = Array.isArray(problem?.errors) ? problem.errors : [];
  const lines = errors.map(({ pointer, detail }) => `${pointer || "the body"} ${detail}`);
  lines.unshift(`${response.status} ${title}: ${problem?.detail ?? "no detail"}`);
  const members = problem?.code === "name_taken" ? ["name"] : errors.map(({ pointer }) => pointer.slice(1));
  return { text: lines.join("\n"), members };
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
