// The curl commands.

import { shellCredential } from "./session.js";

const MAX_BODY = 4096; // bytes of a body in the journal
const UNKNOWN = /\*{3}|\uFFFD/; // in the place of a secret, or of bytes that are no text
const ODD = /[\p{C}\p{DI}\p{Zl}\p{Zp}]/u; // what nobody sees

// What curl or a page sends itself, and what a browser or a library adds to each request.
const OWN = /^(authorization|host|content-length|connection|transfer-encoding|expect)$/i;
const ADDED = /^(user-agent|accept-encoding|accept-language|referer|sec-.*|cache-control|pragma|dnt|priority)$/i;

const utf8 = new TextEncoder();
export const sizeOf = (text) => utf8.encode(text).length;

/** Whether the journal has the beginning of a body alone, which had so many bytes. */
export const isCut = (size) => size > MAX_BODY;

/** A text as a word for sh, bash, zsh, ksh and fish, which reads backslashes between single quotes. */
const quote = (text) =>
  /^[\w./-][\w@%+=:,./-]*$/.test(text) ? text
    : `'${text.replace(/\\(?=['\\]|$)|'/g, (char) => (char === "'" ? `'"'"'` : `'\\\\'`))}'`;

/** The printf that writes a text, whatever it is. */
const printf = (text) => `printf '${Array.from(utf8.encode(text), printed).join("").replace(/^-/, "\\055")}'`;
const printed = (byte) =>
  byte >= 0x20 && byte < 0x7f && !/['\\%!]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte)
    : `\\${byte.toString(8).padStart(3, "0")}`;

const authorization = () => `-H "Authorization: ${shellCredential()}"`;

/** A command of an empty state: `parts` are words for a shell. */
export const commandOf = (path, ...parts) =>
  ["curl", authorization(), ...parts, location.origin + path].join(" ");

/**
 * How to repeat a request: the command, and how it differs; the URL and the headers for a page, and
 * why a page cannot send it again.
 */
export function curlOf({ method, path, query, headers, body, code }) {
  const url = `${location.origin}/${encodePath(path.slice(1))}${query && `?${encodeRest(query)}`}`;
  const size = Number(headers["Content-Length"] ?? 0);
  const fields = Object.entries(headers).filter(([name]) => !OWN.test(name) && !ADDED.test(name));
  const { kept = [], missing = [] } = Object.groupBy(fields, ([, value]) =>
    /^[ -~]+$/.test(value) && !UNKNOWN.test(value) ? "kept" : "missing");
  const differences = [];
  const lost = []; // of what the client asked for
  const parts = ["curl"];
  if (method === "HEAD") parts.push("--head");
  else if (method !== "GET" || size) parts.push(`-X ${quote(method)}`);
  if (/\/\.{1,2}(\/|$)/.test(path)) parts.push("--path-as-is");
  if (headers.Authorization) parts.push(authorization());
  parts.push(...kept.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`));
  if (headers.Authorization && /^token_/.test(code)) differences.push("the credential is yours");
  if (missing.length) differences.push(`without the header${missing.length > 1 ? "s" : ""} ${missing.map(([name]) => name).join(", ")}`);
  if (encodeRest(query) !== query) differences.push("the query is percent-encoded");
  if (size && method !== "HEAD") {
    if (!headers["Content-Type"]) parts.push("-H 'Content-Type:'");
    if (isCut(size)) {
      lost.push("the body is cut: save the whole as the file body");
      parts.push("--data-binary @body");
    } else if (ODD.test(body)) {
      parts[0] = `${printf(body)} | curl`;
      parts.push("--data-binary @-");
    } else parts.push(`--data-raw ${quote(body)}`);
  }
  const isOther = !isCut(size) && sizeOf(body) !== size; // it had zeros, which are left out
  for (const [name, text] of Object.entries({ method, path, query, body })) {
    if (UNKNOWN.test(text) || (name === "body" && isOther)) lost.push(`the ${name} has secrets, or bytes that are no text`);
  }
  const all = [...differences, ...lost];
  const differs = all.length ? `Differs from the original: ${all.join("; ")}.` : "";
  const unrepeatable = lost[0]?.split(":")[0] ?? "";
  return { command: [...parts, quote(url)].join(" \\\n  "), differs, url, headers: Object.fromEntries(kept), unrepeatable };
}

/** A decoded path as it is sent. %2F and %25 stay encoded in the journal. */
const encodePath = (path) => encodeRest(path.replace(/%(?!2f|25)/gi, "%25")).replaceAll("?", "%3F");

/** Encode what a URL cannot contain, and what curl or a shell gives a meaning. */
const encodeRest = (text) => text.toWellFormed().replace(/[^\w!$&()*+,\-./:;=?@%~]/gu, encodeURIComponent);
