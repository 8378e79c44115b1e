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

const MESSAGES = ["message", "detail", "error_description", "title"]; // the members that have one, the best first

/** The texts in a JSON value, each with the name of its member. */
function textsIn(value, name = "") {
  if (typeof value === "string") return value ? [{ name, text: value }] : [];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, each]) => textsIn(each, Array.isArray(value) ? name : key));
}

/** The message in the body of an error: by the name of its member, else the longest text, first with a space. */
function messageIn(value) {
  const texts = textsIn(value);
  const named = MESSAGES.map((name) => texts.find((each) => each.name === name)).find(Boolean);
  const longest = texts.sort((one, other) => other.text.length - one.text.length);
  return (named ?? longest.find(({ text }) => text.includes(" ")) ?? longest[0])?.text ?? "";
}

/** What an error response says, in the service's own words, its code, and the members it names. */
export async function errorOf(response) {
  const text = await response.text();
  const problem = parsed(text);
  const listed = Array.isArray(problem?.errors) ? problem.errors : [];
  const errors = listed.filter((each) => typeof each?.pointer === "string"); // those of another form have no such place
  const own = { title: response.statusText, detail: problem === undefined ? text : messageIn(problem) };
  const { title, detail } = typeof problem?.detail === "string" ? { ...own, ...problem } : own;
  const reason = [`${response.status} ${title}`, detail.slice(0, MAX_TEXT)].filter(Boolean).join(": ");
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
