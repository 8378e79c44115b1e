// The curl commands.

import { shellCredential } from "./session.js";

const MAX_BODY = 4096; // bytes of a body in the journal
const MAX_TARGET = 2048; // bytes of a method, a path, a query
const MAX_HEADERS = 8192; // bytes of all of them
const MASK = "***";

// What curl makes itself, and what a browser or a library adds to each request.
const OWN = /^(host|content-length|connection)$/i;
const LEFT_OUT = /^(transfer-encoding|expect|user-agent|accept-encoding|accept-language|referer|sec-.*|cache-control|pragma|dnt|priority)$/i;

/** The headers that a page may send again: without the credential, secrets, and what it sends itself. */
export const repeatable = (headers) =>
  Object.fromEntries(Object.entries(headers).filter(([name, value]) =>
    !OWN.test(name) && !LEFT_OUT.test(name) && name !== "Authorization" && !value.includes(MASK)));

const utf8 = new TextEncoder();
export const sizeOf = (text) => utf8.encode(text).length;
const isFull = (text, size) => sizeOf(text) > size - 4; // a character is never cut in two
export const isCutBody = (body, size) => isFull(body, MAX_BODY) && !(Number(size) <= MAX_BODY);

const ODD = /[\p{C}\p{DI}\p{Zl}\p{Zp}]/gu;

/** A text as a word for a shell; with `odd` characters, which nobody sees, as bytes for bash, zsh or ksh. */
function quote(text, odd = ODD, bytesOf = (char) => utf8.encode(char)) {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (text.search(odd) < 0) return `'${text.replaceAll("'", `'\\''`)}'`;
  const inBytes = (char) => Array.from(bytesOf(char), (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  return `$'${text.replace(/[\\']/g, "\\$&").replace(odd, inBytes)}'`;
}

/** A header field, of which the journal has each byte as a character. */
const quoteField = (name, value) => quote(value ? `${name}: ${value}` : `${name};`, /[^ -~]/g, (char) => [char.codePointAt(0) & 0xff]);

const authorization = () => `-H "Authorization: ${shellCredential()}"`;

/** A command of an empty state: `parts` are words for a shell. */
export const commandOf = (path, ...parts) =>
  ["curl", authorization(), ...parts, location.origin + path].join(" ");

/** The command that repeats a request, and how it differs from the original. */
export function curlOf(entry) {
  const { method, path, query, headers, body, code } = entry;
  const size = headers["Content-Length"];
  const isCut = isCutBody(body, size);
  const isHead = method === "HEAD";
  const differences = [];
  const parts = ["curl"];
  if (isHead) parts.push("--head");
  else if (method !== "GET" || body) parts.push(`-X ${quote(method)}`);
  if (/\/\.{1,2}(\/|$)/.test(path)) parts.push("--path-as-is");
  const missing = [];
  for (const [name, value] of Object.entries(headers)) {
    const isDefault = /^accept$/i.test(name) ? value === "*/*" : /^user-agent$/i.test(name) && value.startsWith("curl/");
    if (OWN.test(name) || isDefault) continue;
    if (name === "Authorization") parts.push(authorization());
    else if (LEFT_OUT.test(name) || value.includes(MASK)) missing.push(name);
    else parts.push(`-H ${quoteField(name, value)}`);
  }
  if (headers.Authorization && (headers.Authorization === MASK || /^token_/.test(code))) {
    differences.push("the credential is yours");
  }
  if (missing.length) differences.push(`without the header${missing.length > 1 ? "s" : ""} ${missing.join(", ")}`);
  if (Object.entries(headers).flat().reduce((sum, text) => sum + sizeOf(text), 0) >= MAX_HEADERS) {
    differences.push("the headers are cut");
  }
  if (isHead && Number(size) > 0) differences.push("without the body");
  else if (body || Number(size) > 0) {
    if (!Object.keys(headers).some((name) => /^content-type$/i.test(name))) parts.push("-H 'Content-Type:'");
    if (isCut) differences.push("the journal has the beginning of the body only: save the whole as the file body");
    else if (size !== undefined && sizeOf(body) !== Number(size)) differences.push("the body has secrets, or bytes that are no text");
    parts.push(isCut ? "--data-binary @body" : `--data-raw ${quote(body)}`);
  }
  for (const [name, text] of Object.entries({ method, path, query })) {
    if (isFull(text, MAX_TARGET)) differences.push(`the ${name} is cut`);
    if (text.includes(MASK)) differences.push(`the ${name} has secrets`);
  }
  if (encodeRest(query) !== query) differences.push("the query is percent-encoded");
  const url = location.origin + encodePath(path) + (query ? `?${encodeRest(query)}` : "");
  parts.push(quote(url));
  const differs = differences.length ? `Differs from the original: ${differences.join("; ")}.` : "";
  return { command: parts.join(" \\\n  "), differs, isCut, url };
}

/** A decoded path as it is sent. %2F and %25 stay encoded in the journal. */
const encodePath = (path) => encodeRest(path.replace(/%(?!2f|25)/gi, "%25")).replaceAll("?", "%3F");

/** Encode what a URL cannot contain, and what curl or a shell gives a meaning. */
const encodeRest = (text) => text.toWellFormed().replace(/[^\w!$&()*+,\-./:;=?@%~]/gu, encodeURIComponent);
