// The curl commands.

import { shellCredential } from "./session.js";

const MAX_BODY = 4096; // bytes of a body in the journal
const MAX_TARGET = 2048; // bytes of a method, a path, a query
const MAX_HEADERS = 8192; // bytes of all of them
const MASK = "***";
const UNKNOWN = /\*{3}|\uFFFD/; // in the place of a secret, or of bytes that are no text

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

const ODD = /[\p{C}\p{DI}\p{Zl}\p{Zp}]/u; // what nobody sees

/** A text as a word for sh, bash, zsh, ksh and fish, which reads backslashes between single quotes. */
const quote = (text) =>
  /^[\w./-][\w@%+=:,./-]*$/.test(text) ? text
    : `'${text.replace(/\\(?=['\\]|$)|'/g, (char) => (char === "'" ? `'"'"'` : `'\\\\'`))}'`;

/** The printf that writes bytes, whatever they are. */
const printf = (bytes) => `printf '${Array.from(bytes, printed).join("").replace(/^-/, "\\055")}'`;
const printed = (byte) =>
  byte >= 0x20 && byte < 0x7f && !/['\\%!]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte)
    : `\\${byte.toString(8).padStart(3, "0")}`;

/** A header field, of which the journal has each byte as a character. */
function quoteField(name, value) {
  const field = value ? `${name}: ${value}` : `${name};`;
  return /[^ -~]/.test(field) ? `"$(${printf(Array.from(field, (char) => char.codePointAt(0) & 0xff))})"` : quote(field);
}

const authorization = () => `-H "Authorization: ${shellCredential()}"`;

/** A command of an empty state: `parts` are words for a shell. */
export const commandOf = (path, ...parts) =>
  ["curl", authorization(), ...parts, location.origin + path].join(" ");

/** The command that repeats a request, how it differs, and why a page cannot send it again. */
export function curlOf(entry) {
  const { method, path, query, headers, body, code } = entry;
  const size = headers["Content-Length"];
  const isHead = method === "HEAD";
  const isPath = path.startsWith("/"); // not that of CONNECT and OPTIONS *
  const url = location.origin + (isPath ? encodePath(path) + (query && `?${encodeRest(query)}`) : "/");
  const differences = [];
  const lost = []; // of what the client asked for
  const missing = [];
  const parts = ["curl"];
  if (isHead) parts.push("--head");
  else if (method !== "GET" || body) parts.push(`-X ${quote(method)}`);
  if (/\/\.{1,2}(\/|$)/.test(path)) parts.push("--path-as-is");
  if (!isPath) parts.push(`--request-target ${quote(encodeRest(path))}`);
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
  if (isFull(Object.entries(headers).flat().join(""), MAX_HEADERS)) differences.push("the headers are cut");
  if (isHead && Number(size) > 0) lost.push("without the body");
  else if (body || Number(size) > 0) {
    if (missing.includes("Content-Type") || !headers["Content-Type"]) parts.push("-H 'Content-Type:'");
    if (isCutBody(body, size)) {
      lost.push("the body is cut: save the whole as the file body");
      parts.push("--data-binary @body");
    } else if (ODD.test(body)) {
      parts[0] = `${printf(utf8.encode(body))} | curl`;
      parts.push("--data-binary @-");
    } else parts.push(`--data-raw ${quote(body)}`);
    const isOther = size !== undefined && sizeOf(body) !== Number(size) && !lost.length;
    if (isOther || UNKNOWN.test(body)) lost.push("the body has secrets, or bytes that are no text");
  }
  for (const [name, text] of Object.entries({ method, path, query })) {
    if (isFull(text, MAX_TARGET)) lost.push(`the ${name} is cut`);
    if (UNKNOWN.test(text)) lost.push(`the ${name} has secrets, or bytes that are no text`);
  }
  if (encodeRest(query) !== query) differences.push("the query is percent-encoded");
  const isSent = new URL(url).href === url && isPath && method !== "TRACE" && !(body && method === "GET");
  const unrepeatable = lost[0]?.split(":")[0] ?? (isSent ? "" : "a browser does not send such a request");
  const all = [...differences, ...lost];
  const differs = all.length ? `Differs from the original: ${all.join("; ")}.` : "";
  return { command: [...parts, quote(url)].join(" \\\n  "), differs, unrepeatable, url };
}

/** A decoded path as it is sent. %2F and %25 stay encoded in the journal. */
const encodePath = (path) => encodeRest(path.replace(/%(?!2f|25)/gi, "%25")).replaceAll("?", "%3F");

/** Encode what a URL cannot contain, and what curl or a shell gives a meaning. */
const encodeRest = (text) => text.toWellFormed().replace(/[^\w!$&()*+,\-./:;=?@%~]/gu, encodeURIComponent);
